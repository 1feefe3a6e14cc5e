"""What the objects of the chart say: workers, settings, secrets, scaling, network, monitoring."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest
import yaml

from stream.settings.model import Settings
from stream.settings.secret import secret_fault
from stream.settings.service import LogSettings
from stream.worker.reload import LIVE
from tests.helm.chart import CHART, FEATURES, MINIMAL, merged, only, pod_of, render, settings_of
from tests.helm.manifests import Object, name_of
from tests.helm.programs import Helm

VERSION_LABELS = {"app.kubernetes.io/version", "helm.sh/chart", "app.kubernetes.io/managed-by"}


def rendered(helm: Helm, *values: dict[str, Any], name: str = "test") -> list[Object]:
    return render(helm, "--namespace", "tenant", values=[merged(MINIMAL, *values)], name=name)


def containers_of(pod: dict[str, Any]) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = pod["containers"] + pod.get("initContainers", [])
    return found


def secrets_of(container: dict[str, Any]) -> dict[str, tuple[str, str]]:
    """The variables of a container that come from Secrets, and from where."""
    sources = {one["name"]: one["valueFrom"]["secretKeyRef"] for one in container["env"] if "valueFrom" in one}
    return {name: (source["name"], source["key"]) for name, source in sources.items()}


def secret_files_of(pod: dict[str, Any], container: dict[str, Any]) -> dict[str, tuple[str, str]]:
    """What a container finds in files that its variables name, by variable, and from where."""
    (mount,) = [one["mountPath"] for one in container["volumeMounts"] if one["name"] == "secrets"]
    (volume,) = [one["projected"] for one in pod["volumes"] if one["name"] == "secrets"]
    sources = [source["secret"] for source in volume["sources"]]
    found = {item["path"]: (one["name"], item["key"]) for one in sources for item in one["items"]}
    paths = {one["name"]: Path(one["value"]) for one in container["env"] if one["name"].endswith("_FILE")}
    assert all(str(path.parent) == mount for path in paths.values())
    assert sorted(path.name for path in paths.values()) == sorted(found)
    return {name.removesuffix("_FILE"): found[path.name] for name, path in paths.items()}


def pod_name(deployment: str, digest: str) -> str:
    """The name that Kubernetes gives a Pod: `generateName` is cut so that five characters fit behind it."""
    return f"{deployment}-{digest}-"[: 63 - 5] + "x7k2p"


class TestWorkers:
    def test_several_workers_are_replaced_one_after_the_other(self, helm: Helm) -> None:
        """None is started before another has left."""
        strategy = only(rendered(helm, {"replicas": 2}), "Deployment")["spec"]["strategy"]
        assert strategy == {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 0, "maxUnavailable": 1}}

    def test_helm_3_has_a_worker_to_wait_for(self, helm: Helm) -> None:
        """It waits for all workers but those that may be away: of a single one for none, unless it is recreated; so
        where an autoscaler begins with one, none may be away. What the values say is left as it is."""
        surge = {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}}
        assert only(rendered(helm), "Deployment")["spec"]["strategy"] == {"type": "Recreate"}
        for feature in ("hpa", "keda", "placement"):
            assert only(rendered(helm, FEATURES[feature]), "Deployment")["spec"]["strategy"] == surge
        own = {"rollingUpdate": {"maxSurge": "25%", "maxUnavailable": 2}}
        for values in (FEATURES["hpa"], {"replicas": 1}):
            strategy = only(rendered(helm, values, {"updateStrategy": own}), "Deployment")["spec"]["strategy"]
            assert strategy == {"type": "RollingUpdate"} | own

    def test_all_workers_at_once_is_one_value(self, helm: Helm) -> None:
        """``Recreate`` has no rolling update, and nobody has to take the default's away."""
        for strategy in ({"type": "Recreate"}, {"type": "Recreate", "rollingUpdate": None}):
            deployment = only(rendered(helm, {"updateStrategy": strategy}), "Deployment")
            assert deployment["spec"]["strategy"] == {"type": "Recreate"}
        rolling = only(rendered(helm, {"replicas": 2, "updateStrategy": {"rollingUpdate": None}}), "Deployment")
        assert rolling["spec"]["strategy"]["rollingUpdate"] == {"maxSurge": 0, "maxUnavailable": 1}

    def test_annotations_of_the_chart_are_not_said_twice(self, helm4: Helm) -> None:
        """Of those that the chart has too, the container can be another; what settings are read cannot."""
        own = only(rendered(helm4), "Deployment")["spec"]["template"]["metadata"]["annotations"]
        given = {"checksum/config": "mine", "kubectl.kubernetes.io/default-container": "proxy", "a": "b"}
        objects = rendered(helm4, {"podAnnotations": given})
        found = only(objects, "Deployment")["spec"]["template"]["metadata"]["annotations"]
        assert found == given | {"checksum/config": own["checksum/config"]}

    def test_what_workers_read_again_replaces_none(self, helm: Helm) -> None:
        """A change of ``logs`` is read from the mounted folder; a change of anything else starts new Pods."""

        def pod(settings: dict[str, Any]) -> Any:
            return only(rendered(helm, {"config": settings}), "Deployment")["spec"]["template"]

        assert {f"logs.{name}" for name in LogSettings.model_fields} <= LIVE
        assert pod({"logs": {"level": "debug"}}) == pod({})
        assert pod({"privacy": {"k": 7}}) != pod({})
        (mount,) = [one for one in pod({})["spec"]["containers"][0]["volumeMounts"] if one["name"] == "settings"]
        assert "subPath" not in mount

    def test_a_default_installation_has_one(self, helm4: Helm) -> None:
        """Without a number and without an autoscaler there is one worker; zero stays zero."""
        assert only(rendered(helm4), "Deployment")["spec"]["replicas"] == 1
        assert only(rendered(helm4, {"replicas": 0}), "Deployment")["spec"]["replicas"] == 0

    @pytest.mark.parametrize(
        ("grace_period", "seconds"), [("20s", 30), ("2m", 130), ("1500ms", 12), ("1h", 3610), ("0", 10)]
    )
    def test_a_worker_has_the_time_it_needs_to_end(self, helm4: Helm, grace_period: str, seconds: int) -> None:
        """The Pod is given longer than the worker takes."""
        pod = pod_of(rendered(helm4, {"config": {"worker": {"grace_period": grace_period}}}))
        assert pod["terminationGracePeriodSeconds"] == seconds

    def test_a_changed_setting_starts_workers_anew(self, helm4: Helm) -> None:
        """A setting changes the Pods' template; the number of workers, or a label of the Service, does not."""

        def template(*values: dict[str, Any]) -> dict[str, Any]:
            found: dict[str, Any] = only(rendered(helm4, *values), "Deployment")["spec"]["template"]
            return found

        assert template({"config": {"privacy": {"k": 6}}}) != template()
        assert template({"replicas": 3, "service": {"labels": {"a": "b"}}}) == template()

    def test_a_new_chart_with_the_same_image_restarts_nobody(self, helm4: Helm, tmp_path: Path) -> None:
        """The chart's version is in no Pod, and in no selector."""
        copy = tmp_path / "shoal"
        shutil.copytree(CHART, copy)
        chart = yaml.safe_load((copy / "Chart.yaml").read_text())
        (copy / "Chart.yaml").write_text(yaml.safe_dump(chart | {"version": "9.9.9"}))
        new = helm4.template(copy, "--namespace", "tenant", values=[MINIMAL])
        assert only(new, "Deployment")["metadata"]["labels"]["helm.sh/chart"] == "shoal-9.9.9"
        assert only(new, "Deployment")["spec"] == only(rendered(helm4), "Deployment")["spec"]

    def test_probes_are_whole_objects(self, helm4: Helm) -> None:
        """A probe can be another one, or none."""
        command = {"command": ["shoal", "health"]}
        pod = pod_of(rendered(helm4, {"livenessProbe": {"httpGet": None, "exec": command}, "startupProbe": None}))
        assert pod["containers"][0]["livenessProbe"]["exec"] == command
        assert "httpGet" not in pod["containers"][0]["livenessProbe"]
        assert "startupProbe" not in pod["containers"][0]

    def test_nobody_is_restarted_while_seals_are_read(self, helm4: Helm) -> None:
        """Start and liveness ask for nothing of Kafka, however long it takes; only readiness waits for seals."""
        container = pod_of(rendered(helm4))["containers"][0]
        assert container["startupProbe"]["httpGet"]["path"] == "/healthz"
        assert container["livenessProbe"]["httpGet"]["path"] == "/healthz"
        assert container["readinessProbe"]["httpGet"]["path"] == "/readyz"

    def test_a_pod_holds_no_token_of_the_api_server(self, helm4: Helm) -> None:
        """Workers never ask it; neither Pods nor ServiceAccounts mount one, nor variables of Services."""
        objects = rendered(helm4)
        for pod in (pod_of(objects), pod_of(objects, "Job"), only(objects, "Pod")["spec"]):
            assert pod["automountServiceAccountToken"] is False
            assert pod["enableServiceLinks"] is False

    def test_an_image_by_digest(self, helm4: Helm) -> None:
        """A digest wins over the tag, a global registry over the image's own, and every container has the same."""
        objects = rendered(helm4, FEATURES["scheduling"], {"image": {"tag": "old", "registry": "elsewhere"}})
        wanted = f"registry.example/team/shoal@{FEATURES['scheduling']['image']['digest']}"
        for pod in (pod_of(objects), pod_of(objects, "Job"), only(objects, "Pod")["spec"]):
            ours = [one for one in pod["containers"] + pod.get("initContainers", []) if one["name"] != "proxy"]
            assert {one["image"] for one in ours} == {wanted}

    def test_names_and_scheduling_are_those_of_every_pod(self, helm: Helm) -> None:
        """Workers, Job and test alike; the hooks are the workers' alone."""
        given = FEATURES["placement"]
        objects = rendered(helm, given)
        names = ("schedulerName", "runtimeClassName", "hostAliases", "dnsPolicy", "dnsConfig")
        for pod in (pod_of(objects), pod_of(objects, "Job"), only(objects, "Pod")["spec"]):
            assert {name: pod[name] for name in names} == {name: given[name] for name in names}
        assert pod_of(objects)["containers"][0]["lifecycle"] == given["lifecycle"]
        assert "lifecycle" not in str(pod_of(objects, "Job"))

    def test_a_quota_of_every_resource_is_kept(self, helm4: Helm) -> None:
        """With these values each container says how much CPU and memory it takes, at least and at most."""
        objects = rendered(helm4, FEATURES["quota"])
        for pod in (pod_of(objects), pod_of(objects, "Job"), only(objects, "Pod")["spec"]):
            for container in containers_of(pod):
                assert all(set(container["resources"][part]) == {"cpu", "memory"} for part in ("requests", "limits"))

    def test_the_test_has_an_account_before_the_release_does(self, helm4: Helm) -> None:
        """A dry run on the API server refuses a Pod whose ServiceAccount is only about to be made."""
        for feature, account in (("minimal", "default"), ("names", "existing-account")):
            assert only(rendered(helm4, FEATURES[feature]), "Pod")["spec"]["serviceAccountName"] == account
        objects = rendered(helm4, FEATURES["workload-identity"])  # its token is that of the workers
        assert only(objects, "Pod")["spec"]["serviceAccountName"] == pod_of(objects)["serviceAccountName"]

    def test_a_constraint_counts_workers_unless_it_says_what_it_counts(self, helm4: Helm) -> None:
        """Spread constraints get this release's selector; one that has its own keeps it."""
        own = pod_of(rendered(helm4))["topologySpreadConstraints"]
        selector = only(rendered(helm4), "Deployment")["spec"]["selector"]
        assert [one["labelSelector"] for one in own] == [selector, selector]
        given = pod_of(rendered(helm4, FEATURES["scheduling"]))["topologySpreadConstraints"]
        assert given == FEATURES["scheduling"]["topologySpreadConstraints"]


class TestNames:
    def test_two_releases_share_no_name(self, helm4: Helm) -> None:
        """Several tenants may be in one namespace."""
        values = [merged(FEATURES["monitoring"], {"dashboards": {"namespace": None}})]
        one, two = ({name_of(found) for found in render(helm4, values=values, name=name)} for name in ("one", "two"))
        assert not one & two

    @pytest.mark.parametrize("name", ["shoal", "x", "a" * 53])
    def test_a_release_of_any_name(self, helm4: Helm, name: str) -> None:
        """Names are never too long, and not said twice."""
        objects = rendered(helm4, FEATURES["monitoring"], name=name)
        names = {found["metadata"]["name"] for found in objects}
        assert all(len(found["metadata"]["name"]) <= 63 for found in objects if found["kind"] != "ConfigMap")
        assert all(len(found) <= 100 for found in names)
        assert "shoal-shoal" not in names

    def test_selectors_have_no_version(self, helm4: Helm) -> None:
        """What selects can never change, so it holds nothing that does; nor what the values add."""
        objects = rendered(helm4, FEATURES["scheduling"])
        deployment = only(objects, "Deployment")["spec"]["selector"]["matchLabels"]
        assert set(deployment) == {f"app.kubernetes.io/{name}" for name in ("name", "instance", "component")}
        for kind, at in (("PodDisruptionBudget", "selector"), ("NetworkPolicy", "podSelector")):
            assert only(objects, kind)["spec"][at]["matchLabels"] == deployment
        assert only(objects, "Service")["spec"]["selector"] == deployment

    def test_common_labels_and_annotations_are_everywhere(self, helm4: Helm) -> None:
        """Everything the chart makes has them, and none takes a label of the chart's own away."""
        values = merged(FEATURES["scheduling"], {"commonLabels": {"app.kubernetes.io/name": "stolen"}})
        for one in rendered(helm4, values):
            assert one["metadata"]["labels"]["cost-center"] == "42"
            assert one["metadata"]["labels"]["app.kubernetes.io/name"] == "shoal"
            assert one["metadata"]["annotations"]["example.org/contact"] == "privacy@example.org"


class TestSecrets:
    @pytest.mark.parametrize(
        ("feature", "variables"),
        [
            ("minimal", {"SHOAL_PRIVACY__SECRET": ("shoal", "secret")}),
            (
                "scram",  # and the Job with credentials of its own, below
                {
                    "SHOAL_PRIVACY__SECRET": ("shoal", "pseudonyms"),
                    "SHOAL_KAFKA__SASL_USERNAME": ("shoal-kafka", "username"),
                    "SHOAL_KAFKA__SASL_PASSWORD": ("shoal-kafka", "password"),
                },
            ),
            (
                "plain",
                {
                    "SHOAL_PRIVACY__SECRET": ("shoal", "secret"),
                    "SHOAL_KAFKA__SASL_PASSWORD": ("shoal-kafka", "token"),
                },
            ),
            (
                "mtls",
                {
                    "SHOAL_PRIVACY__SECRET": ("shoal", "secret"),
                    "SHOAL_KAFKA__SSL_KEY_PASSWORD": ("shoal-kafka-tls", "tls.password"),
                },
            ),
            (
                "oauth",
                {
                    "SHOAL_PRIVACY__SECRET": ("shoal", "secret"),
                    "SHOAL_KAFKA__OAUTH_CLIENT_ID": ("shoal-oauth", "client-id"),
                    "SHOAL_KAFKA__OAUTH_CLIENT_SECRET": ("shoal-oauth", "client-secret"),
                },
            ),
            ("workload-identity", {"SHOAL_PRIVACY__SECRET": ("shoal", "secret")}),
            (
                "registry",
                {
                    "SHOAL_PRIVACY__SECRET": ("shoal", "secret"),
                    "SHOAL_REGISTRY__USERNAME": ("shoal-registry", "username"),
                    "SHOAL_REGISTRY__PASSWORD": ("shoal-registry", "password"),
                },
            ),
            (
                "registry-token",
                {
                    "SHOAL_PRIVACY__SECRET": ("shoal", "secret"),
                    "SHOAL_REGISTRY__TOKEN": ("shoal-registry", "token"),
                },
            ),
            (
                "telemetry",
                {
                    "SHOAL_PRIVACY__SECRET": ("shoal", "secret"),
                    "SHOAL_TELEMETRY__HEADERS": ("otlp", "headers"),
                },
            ),
        ],
    )
    def test_variables_come_from_the_named_secrets(
        self, helm4: Helm, feature: str, variables: dict[str, tuple[str, str]]
    ) -> None:
        """Each way to show who we are reads its own keys, in workers, Job and test alike, and no others."""
        objects = render(helm4, values=[FEATURES[feature], {"topicsJob": {"credentials": {"existingSecret": ""}}}])
        for pod in (pod_of(objects), pod_of(objects, "Job"), only(objects, "Pod")["spec"]):
            assert all(secrets_of(container) == variables for container in containers_of(pod))

    @pytest.mark.parametrize(
        "feature", ["mtls", "oauth", "registry", "registry-token", "scram", "secret-files", "telemetry"]
    )
    def test_secrets_may_be_files(self, helm: Helm, feature: str) -> None:
        """The same of the same Secrets, in workers, Job and test alike: only names stay variables, and each variable is
        one that the worker knows. Of the Job's files none has to exist."""
        for kind in ("Deployment", "Job"):
            as_files, as_variables = (
                pod_of(render(helm, values=[FEATURES[feature], {"secretsAsFiles": on}]), kind) for on in (True, False)
            )
            for container, wanted in zip(containers_of(as_files), containers_of(as_variables), strict=True):
                files, variables = secret_files_of(as_files, container), secrets_of(container)
                assert files | variables == secrets_of(wanted)
                assert all(name.endswith(("__SASL_USERNAME", "__OAUTH_CLIENT_ID", "__USERNAME")) for name in variables)
                for name in files:
                    section, setting = f"{name}_FILE".removeprefix("SHOAL_").lower().split("__")
                    assert setting in Settings.model_fields[section].annotation.model_fields  # type: ignore[union-attr]
            volume = next(one["projected"] for one in as_files["volumes"] if one["name"] == "secrets")
            assert all(one["secret"].get("optional", False) is (kind == "Job") for one in volume["sources"])

    @pytest.mark.parametrize(
        ("feature", "settings"),
        [
            ("scram", {"ssl_cafile": "certificate-authority"}),
            (
                "mtls",
                {
                    "ssl_cafile": "certificate-authority",
                    "ssl_certfile": "client-certificate",
                    "ssl_keyfile": "client-certificate",
                },
            ),
            ("workload-identity", {"oauth_token_file": "token"}),
            ("registry", {"cafile": "registry-authority"}),
            ("telemetry", {"cafile": "telemetry-authority"}),
        ],
    )
    def test_settings_name_the_mounted_files(self, helm4: Helm, feature: str, settings: dict[str, str]) -> None:
        """A file that a setting names is where a volume is mounted, and the volume has it."""
        objects = render(helm4, values=[FEATURES[feature]])
        pod = pod_of(objects)
        mounts = {one["name"]: one["mountPath"] for one in pod["containers"][0]["volumeMounts"]}
        volumes = {one["name"]: one for one in pod["volumes"]}
        for setting, volume in settings.items():
            section = feature if feature in ("registry", "telemetry") else "kafka"
            path = Path(settings_of(objects)[section][setting])
            assert str(path.parent) == mounts[volume]
            items = volumes[volume].get("secret", {}).get("items") or [
                source["serviceAccountToken"] for source in volumes[volume]["projected"]["sources"]
            ]
            assert path.name in {item["path"] for item in items}

    def test_the_job_may_be_somebody_else(self, helm4: Helm) -> None:
        """Its credentials, name and all, are those that it is given; the workers and the test keep theirs."""
        named = {"config": {"kafka": {"sasl_username": "worker"}}}
        objects = render(helm4, values=[merged(FEATURES["scram"], named)])
        for container in containers_of(pod_of(objects, "Job")):
            assert secrets_of(container) == {
                "SHOAL_PRIVACY__SECRET": ("shoal", "pseudonyms"),
                "SHOAL_KAFKA__SASL_USERNAME": ("shoal-kafka-admin", "username"),
                "SHOAL_KAFKA__SASL_PASSWORD": ("shoal-kafka-admin", "password"),
            }
        assert settings_of(objects, "-topics")["kafka"]["sasl_username"] is None
        assert settings_of(objects)["kafka"]["sasl_username"] == "worker"
        for pod in (pod_of(objects), only(objects, "Pod")["spec"]):
            for container in containers_of(pod):
                assert secrets_of(container)["SHOAL_KAFKA__SASL_PASSWORD"] == ("shoal-kafka", "password")

    def test_the_job_may_show_another_certificate(self, helm4: Helm) -> None:
        """Under the keys that the workers' has."""
        own = {"topicsJob": {"clientCertificate": {"existingSecret": "shoal-admin-tls"}}}
        objects = render(helm4, values=[merged(FEATURES["mtls"], own)])
        for kind, secret in (("Job", "shoal-admin-tls"), ("Deployment", "shoal-kafka-tls")):
            volumes = {one["name"]: one for one in pod_of(objects, kind)["volumes"]}
            assert volumes["client-certificate"]["secret"]["secretName"] == secret
            variables = secrets_of(pod_of(objects, kind)["containers"][0])
            assert variables["SHOAL_KAFKA__SSL_KEY_PASSWORD"] == (secret, "tls.password")

    def test_the_development_switch(self, helm4: Helm) -> None:
        """It needs no Secret, is the same at every upgrade and another in another release, and says what it is."""

        def secret(name: str) -> str:
            objects = render(helm4, values=[FEATURES["development"]], name=name)
            variables = {one["name"]: one.get("value") for one in pod_of(objects)["containers"][0]["env"]}
            return str(variables["SHOAL_PRIVACY__SECRET"])

        assert secret("a") == secret("a") != secret("b")
        assert secret_fault(secret("a")) is None
        assert "development" in secret("a")


class TestTopicsJob:
    def test_it_comes_before_everything_else_with_settings_of_its_own(self, helm4: Helm) -> None:
        """A worker does not start on missing topics, and a hook comes before the release's ConfigMap: it has the same
        settings in one of its own, made before it."""
        objects = rendered(helm4)
        job, config_map = only(objects, "Job"), only(objects, "ConfigMap", "test-shoal-topics")
        for one in (job, config_map):
            assert one["metadata"]["annotations"]["helm.sh/hook"].startswith("pre-install,pre-upgrade")
            assert "before-hook-creation" in one["metadata"]["annotations"]["helm.sh/hook-delete-policy"]
        weights = [int(one["metadata"]["annotations"]["helm.sh/hook-weight"]) for one in (config_map, job)]
        assert weights == sorted(weights)
        assert weights[0] != weights[1]
        assert settings_of(objects, "-topics") == settings_of(objects)
        volumes = {one["name"]: one for one in job["spec"]["template"]["spec"]["volumes"]}
        assert volumes["settings"]["configMap"]["name"] == config_map["metadata"]["name"]

    def test_it_checks_before_it_creates(self, helm4: Helm) -> None:
        """Settings that no worker would start with stop an upgrade before anything is replaced."""
        pod = pod_of(rendered(helm4), "Job")
        assert [one["args"] for one in pod["initContainers"]] == [["check-config"], ["topics", "create"]]
        assert [one["args"] for one in pod["containers"]] == [["approve"]]
        assert pod["restartPolicy"] == "Never"

    def test_it_may_only_check(self, helm4: Helm) -> None:
        """Where topics are made elsewhere, wrong settings stop an upgrade all the same."""
        checked = FEATURES["topics-checked"]
        pod = pod_of(rendered(helm4, checked), "Job")
        assert [one["args"] for one in pod["initContainers"] + pod["containers"]] == [["check-config"], ["approve"]]
        alone = pod_of(rendered(helm4, checked, {"topicsJob": {"approve": False}}), "Job")
        assert "initContainers" not in alone
        assert [one["args"] for one in alone["containers"]] == [["check-config"]]

    def test_it_approves_settings_before_workers_are_replaced(self, helm4: Helm) -> None:
        """At an installation, an upgrade and a rollback."""
        hooks = only(rendered(helm4), "Job")["metadata"]["annotations"]["helm.sh/hook"]
        assert hooks.split(",") == ["pre-install", "pre-upgrade", "pre-rollback"]

    def test_it_needs_nothing_that_the_release_makes(self, helm4: Helm) -> None:
        """Its ServiceAccount exists before the release."""
        objects = rendered(helm4)
        assert pod_of(objects, "Job")["serviceAccountName"] == "default"
        assert only(objects, "ServiceAccount")["metadata"]["name"] != "default"

    def test_what_went_wrong_can_be_read(self, helm: Helm) -> None:
        """The Job's log says which Secret is missing, a wrong setting is not tried again, Helm 4 prints the log, and
        the end of a log is in the Pod's status. A Job that has failed goes after a day, its ConfigMap with the release.
        """
        for feature in ("scram", "mtls", "registry"):
            objects = rendered(helm, FEATURES[feature])
            job = only(objects, "Job")
            for container in containers_of(pod_of(objects, "Job")):
                sources = [one["valueFrom"]["secretKeyRef"] for one in container["env"] if "valueFrom" in one]
                assert sources
                assert all(source["optional"] for source in sources)
            secrets = [one["secret"] for one in pod_of(objects, "Job")["volumes"] if "secret" in one]
            assert secrets
            assert all(secret["optional"] for secret in secrets)
            assert "optional" not in str(pod_of(objects))
            for pod in (pod_of(objects), pod_of(objects, "Job"), only(objects, "Pod")["spec"]):
                assert {one["terminationMessagePolicy"] for one in containers_of(pod)} == {"FallbackToLogsOnError"}
        assert job["metadata"]["annotations"]["helm.sh/hook-output-log-policy"] == "hook-failed"
        (rule,) = job["spec"]["podFailurePolicy"]["rules"]
        assert rule["action"] == "FailJob"
        assert rule["onExitCodes"] == {"containerName": "check-config", "operator": "In", "values": [2]}
        assert job["spec"]["ttlSecondsAfterFinished"] == 86_400
        hooks = only(objects, "ConfigMap", "test-shoal-topics")["metadata"]["annotations"]["helm.sh/hook"]
        assert "pre-delete" in hooks

    def test_it_is_off_where_topics_are_made_elsewhere(self, helm4: Helm) -> None:
        """No hook is left then, and the test looks at the topics still."""
        objects = rendered(helm4, FEATURES["topics-elsewhere"])
        hooks = {one["metadata"].get("annotations", {}).get("helm.sh/hook") for one in objects}
        assert hooks == {None, "test"}


class TestScaling:
    @pytest.mark.parametrize("kind", ["HorizontalPodAutoscaler", "ScaledObject"])
    def test_partitions_are_the_most_and_replicas_are_left_to_it(self, helm4: Helm, kind: str) -> None:
        """No more workers than partitions, a Deployment without a number, and down slowly."""
        enabled = {"hpa": {"enabled": True}} if kind.startswith("H") else FEATURES["keda"]["autoscaling"]
        objects = rendered(helm4, {"autoscaling": enabled, "config": {"kafka": {"partitions": 9}}})
        spec = only(objects, kind)["spec"]
        assert spec.get("maxReplicas", spec.get("maxReplicaCount")) == 9
        assert "replicas" not in only(objects, "Deployment")["spec"]
        behavior = spec.get("behavior") or spec["advanced"]["horizontalPodAutoscalerConfig"]["behavior"]
        assert behavior["scaleDown"]["stabilizationWindowSeconds"] > behavior["scaleUp"]["stabilizationWindowSeconds"]
        assert behavior["scaleDown"]["policies"] == [{"type": "Pods", "value": 1, "periodSeconds": 600}]

    def test_keda_asks_for_the_lag_of_this_releases_workers(self, helm4: Helm) -> None:
        """By namespace and Pod, which both monitors put on every series."""
        trigger = only(rendered(helm4, FEATURES["keda"]), "ScaledObject")["spec"]["triggers"][0]
        pods = "test-shoal-[a-z0-9]{1,10}-[a-z0-9]{5}"
        assert trigger["metadata"]["query"] == f'max(shoal_input_lag_seconds{{namespace="tenant",pod=~"{pods}"}})'
        assert trigger["metadata"]["threshold"] == "30"
        assert trigger["metricType"] == "Value"

    @pytest.mark.parametrize("length", [1, 5, 44, 45, 46, 47, 48, 49, 50])
    def test_keda_asks_for_no_other_release(self, helm4: Helm, length: int) -> None:
        """A name may begin as another does, and Kubernetes cuts what is too long."""
        name = "s" * length
        spec = only(rendered(helm4, FEATURES["keda"], {"fullnameOverride": name}), "ScaledObject")["spec"]
        found = re.search(r'pod=~"(.*)"', spec["triggers"][0]["metadata"]["query"])
        assert found is not None
        for digest in ("6", "5d8f7c9b", "76d8fcc9b", "7f6d8fcc9b"):
            assert re.fullmatch(found[1], pod_name(name, digest))
            for other in ("-eu", "-5d8f7c9b", "-eu-5d8f7c9b", "x"):
                if len(name + other) <= 50:
                    assert not re.fullmatch(found[1], pod_name(name + other, digest))

    def test_keda_asks_kafka(self, helm: Helm) -> None:
        """For the lag of the group that reads the input, with the workers' Secrets; beside Prometheus or alone."""
        objects = rendered(helm, FEATURES["keda-kafka"])
        (trigger,) = only(objects, "ScaledObject")["spec"]["triggers"]
        assert trigger["type"] == "kafka"
        wanted = {"consumerGroup": "shoal-ingest", "lagThreshold": "50000", "sasl": "scram_sha512", "tls": "enable"}
        assert trigger["metadata"].items() >= wanted.items()
        authentication = only(objects, "TriggerAuthentication")
        assert trigger["authenticationRef"] == {"name": authentication["metadata"]["name"]}
        assert {one["parameter"]: (one["name"], one["key"]) for one in authentication["spec"]["secretTargetRef"]} == {
            "username": ("shoal-kafka", "username"),
            "password": ("shoal-kafka", "password"),
            "ca": ("kafka-cluster-ca-cert", "ca.crt"),
        }
        both = rendered(helm, FEATURES["keda"], {"autoscaling": {"keda": {"kafka": {"enabled": True}}}})
        triggers = only(both, "ScaledObject")["spec"]["triggers"]
        assert [one["type"] for one in triggers] == ["prometheus", "kafka", "cron"]
        assert "authenticationRef" not in triggers[1]
        own = {"autoscaling": {"keda": {"kafka": {"authenticationRef": {"name": "mine"}}}}}
        given = rendered(helm, FEATURES["keda-kafka"], own)
        assert only(given, "ScaledObject")["spec"]["triggers"][0]["authenticationRef"] == {"name": "mine"}
        assert "TriggerAuthentication" not in {one["kind"] for one in given}

    def test_keda_shows_the_certificate_of_the_workers(self, helm4: Helm) -> None:
        """With the password of its key."""
        scaled = {"autoscaling": {"keda": {"enabled": True, "kafka": {"enabled": True}}}}
        secrets = only(rendered(helm4, FEATURES["mtls"], scaled), "TriggerAuthentication")["spec"]["secretTargetRef"]
        assert {one["parameter"] for one in secrets} == {"ca", "cert", "key", "keyPassword"}

    def test_a_drain_takes_one_at_a_time_and_is_never_stopped_by_the_unready(self, helm4: Helm) -> None:
        """The PodDisruptionBudget by default."""
        spec = only(rendered(helm4), "PodDisruptionBudget")["spec"]
        assert (spec["maxUnavailable"], spec["unhealthyPodEvictionPolicy"]) == (1, "AlwaysAllow")


class TestNetwork:
    def test_only_metrics_are_served_by_default(self, helm4: Helm) -> None:
        """The page is off: no port of the Pod, of the Service or of the policy leads to it."""
        objects = rendered(helm4)
        assert settings_of(objects)["web"].items() >= {"host": "127.0.0.1", "page": False, "port": 6066}.items()
        assert [one["name"] for one in pod_of(objects)["containers"][0]["ports"]] == ["metrics"]
        assert [one["name"] for one in only(objects, "Service")["spec"]["ports"]] == ["metrics"]
        ingress = only(objects, "NetworkPolicy")["spec"]["ingress"]
        assert ingress[1:] == [{"from": [{"namespaceSelector": {}}], "ports": [{"port": "metrics"}]}]

    @pytest.mark.parametrize("peers", [[], [{"namespaceSelector": {"matchLabels": {"name": "monitoring"}}}]])
    def test_the_test_reaches_a_worker_whoever_else_does(self, helm4: Helm, peers: list[Any]) -> None:
        """``helm test`` asks for readiness: its Pod, and no other of the release, is always let in."""
        objects = rendered(helm4, {"networkPolicy": {"metricsFrom": peers}})
        rule = only(objects, "NetworkPolicy")["spec"]["ingress"][0]
        assert rule["ports"] == [{"port": "metrics"}]
        selector = rule["from"][0]["podSelector"]["matchLabels"]
        assert only(objects, "Pod")["metadata"]["labels"].items() >= selector.items()
        assert only(objects, "Deployment")["spec"]["selector"]["matchLabels"] != selector
        assert selector["app.kubernetes.io/instance"] == "test"

    def test_a_page_for_the_pod_alone_has_no_port(self, helm4: Helm) -> None:
        """As long as it listens on the loopback interface, only a forwarded port reaches it."""
        objects = rendered(helm4, {"config": {"web": {"page": True}}})
        assert [one["name"] for one in only(objects, "Service")["spec"]["ports"]] == ["metrics"]

    def test_the_page_is_for_those_who_are_named(self, helm4: Helm) -> None:
        """Metrics and page are let in by rules of their own."""
        objects = rendered(helm4, FEATURES["page"])
        assert [one["name"] for one in only(objects, "Service")["spec"]["ports"]] == ["metrics", "page"]
        rules = only(objects, "NetworkPolicy")["spec"]["ingress"]
        assert [rule["ports"] for rule in rules[1:]] == [[{"port": "metrics"}], [{"port": "page"}]]
        assert rules[2]["from"] == FEATURES["page"]["networkPolicy"]["pageFrom"]

    def test_a_page_nobody_is_named_for_is_closed(self, helm4: Helm) -> None:
        """Without ``pageFrom`` the policy lets nobody in."""
        rules = only(rendered(helm4, FEATURES["page"], {"networkPolicy": {"pageFrom": []}}), "NetworkPolicy")["spec"]
        assert [rule["ports"] for rule in rules["ingress"]] == [[{"port": "metrics"}]] * 2

    def test_a_closed_worker(self, helm4: Helm) -> None:
        """Nobody comes in; out go DNS and Kafka, on the ports that are given."""
        spec = only(rendered(helm4, FEATURES["closed"]), "NetworkPolicy")["spec"]
        assert spec["policyTypes"] == ["Ingress", "Egress"]
        assert spec["ingress"] == []
        ports = [{port["port"] for port in rule["ports"]} for rule in spec["egress"]]
        assert ports == [{53}, {9092, 9094}]

    def test_ports_of_kafka_are_those_of_the_brokers(self, helm4: Helm) -> None:
        """Where none are given, egress opens the ports of the bootstrap servers."""
        values = {
            "config": {"kafka": {"bootstrap_servers": "a:9092, b:9093,[::1]:9093"}},
            "networkPolicy": {"egress": {"enabled": True}},
        }
        egress = only(rendered(helm4, values), "NetworkPolicy")["spec"]["egress"]
        assert [port["port"] for port in egress[1]["ports"]] == [9092, 9093]


class TestMonitoring:
    @pytest.mark.parametrize(
        ("feature", "kind", "at"),
        [("monitoring", "ServiceMonitor", "endpoints"), ("podmonitor", "PodMonitor", "podMetricsEndpoints")],
    )
    def test_a_monitor_scrapes_the_metrics_port(self, helm4: Helm, feature: str, kind: str, at: str) -> None:
        """With the labels by which a Prometheus picks it."""
        monitor = only(rendered(helm4, FEATURES[feature]), kind)
        assert monitor["spec"][at][0]["port"] == "metrics"
        labels = FEATURES[feature].get("serviceMonitor", {}).get("labels", {})
        assert monitor["metadata"]["labels"].items() >= labels.items()

    def test_the_alerts_are_those_of_the_file(self, helm4: Helm) -> None:
        """All rules but the disabled one, unchanged, with the runbook where it is published, and what was added."""
        spec = only(rendered(helm4, FEATURES["monitoring"]), "PrometheusRule")["spec"]
        wanted = yaml.safe_load((CHART / "files" / "rules.yaml").read_text(encoding="utf-8"))["groups"]
        prefix = FEATURES["monitoring"]["prometheusRule"]["runbookUrlPrefix"]
        for group in wanted:
            group["rules"] = [rule for rule in group["rules"] if rule.get("alert") != "ShoalAttackAbovePromise"]
            for rule in group["rules"]:
                if "annotations" in rule:
                    rule["annotations"]["runbook_url"] = prefix + rule["annotations"]["runbook_url"]
        assert spec["groups"] == wanted + FEATURES["monitoring"]["prometheusRule"]["extraGroups"]
        assert all(
            rule["annotations"]["runbook_url"].startswith(prefix)
            for rule in spec["groups"][0]["rules"]
            if "alert" in rule
        )

    @pytest.mark.parametrize("prefix", ["[wiki] ", "a: b #", "{{ x }}", "%s/", "'", ""])
    def test_a_prefix_of_the_runbook_is_text(self, helm: Helm, prefix: str) -> None:
        """Whatever it holds, it stands before the path of every alert, and no rule is lost."""
        values = {"prometheusRule": {"runbookUrlPrefix": prefix, "disabled": [], "extraGroups": []}}
        spec = only(rendered(helm, FEATURES["monitoring"], values), "PrometheusRule")["spec"]
        wanted = yaml.safe_load((CHART / "files" / "rules.yaml").read_text(encoding="utf-8"))["groups"]
        for found, of_file in zip(spec["groups"], wanted, strict=True):
            for rule, original in zip(found["rules"], of_file["rules"], strict=True):
                if "alert" in original:
                    assert rule["annotations"]["runbook_url"] == prefix + original["annotations"]["runbook_url"]

    @staticmethod
    def dashboards_of(objects: list[Object]) -> dict[str, str]:
        """Text by file name of every dashboard, each in the namespace and with the labels of the sidecar."""
        found: dict[str, str] = {}
        for one in objects:
            if one["metadata"]["labels"].get("grafana_dashboard") == "1":
                assert one["metadata"]["namespace"] == "monitoring"
                assert one["metadata"]["annotations"]["grafana_folder"] == "Shoal"
                found |= one["data"]
        assert all('"${datasource}"' in text for text in found.values())
        return found

    def test_dashboards_are_those_of_the_files(self, helm4: Helm) -> None:
        """One ConfigMap each, byte for byte, where one release has those of all."""
        found = self.dashboards_of(rendered(helm4, FEATURES["monitoring"], {"dashboards": {"perRelease": False}}))
        files = {
            f"test-{file.name}": file.read_text(encoding="utf-8") for file in (CHART / "files" / "dashboards").iterdir()
        }
        assert {name: text.rstrip("\n") for name, text in found.items()} == {
            name: text.rstrip("\n") for name, text in files.items()
        }
        assert len(files) == 3

    def test_dashboards_of_several_releases_can_be_in_one_grafana(self, helm: Helm) -> None:
        """Objects, files, ids and titles are different for each release, also of one name in two namespaces, and each
        begins with the job of its own workers. All else is that of the files."""
        seen: dict[str, list[str]] = {"objects": [], "files": [], "uid": [], "title": []}
        for namespace, name in (("a", "shoal"), ("b", "shoal"), ("a", "other")):
            objects = render(helm, "--namespace", namespace, values=[FEATURES["monitoring"]], name=name)
            seen["objects"] += [
                one["metadata"]["name"] for one in objects if "grafana_dashboard" in str(one["metadata"])
            ]
            for file, text in self.dashboards_of(objects).items():
                dashboard = json.loads(text)
                job = next(one for one in dashboard["templating"]["list"] if one["name"] == "job")
                workers = only(objects, "Service")["metadata"]["name"]
                assert job["current"] == {"selected": True, "text": [workers], "value": [workers]}
                assert 8 <= len(dashboard["uid"]) <= 40
                seen["files"].append(file)
                for field in ("uid", "title"):
                    seen[field].append(dashboard.pop(field))
                original = json.loads((CHART / "files" / "dashboards" / f"{file.split('-')[-1]}").read_text("utf-8"))
                job["current"] = next(one for one in original["templating"]["list"] if one["name"] == "job")["current"]
                assert dashboard == {key: original[key] for key in original if key not in ("uid", "title")}
        for found in seen.values():
            assert len(set(found)) == len(found) == 9


class TestExtras:
    def test_objects_as_maps_and_as_text(self, helm4: Helm) -> None:
        """Both are rendered, their templates filled in."""
        names = {name_of(one) for one in rendered(helm4, FEATURES["extras"])}
        assert {"ConfigMap/test-as-a-map", "ConfigMap/test-shoal-as-text"} <= names

    def test_containers_variables_and_volumes(self, helm4: Helm) -> None:
        """They come beside the chart's own."""
        pod = pod_of(rendered(helm4, FEATURES["extras"], {k: v for k, v in FEATURES["files"].items() if k != "config"}))
        assert [one["name"] for one in pod["containers"]] == ["shoal", "proxy"]
        assert pod["containers"][1]["args"] == ["--upstream=127.0.0.1:6066"]
        assert [one["name"] for one in pod["initContainers"]] == ["wait"]
        assert {"name": "SHOAL_LOGS__LEVEL", "value": "debug"} in pod["containers"][0]["env"]
        assert pod["containers"][0]["envFrom"] == FEATURES["extras"]["extraEnvFrom"]
        assert {"venues", "demands"} <= {one["name"] for one in pod["volumes"]}
