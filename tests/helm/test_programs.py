"""Helm for the tests: found where it should be, fetched whole or not at all, and apart from the user's own."""

from __future__ import annotations

import hashlib
import io
import tarfile
import threading
import zipfile
from dataclasses import replace
from pathlib import Path

import pytest

from tests.helm.distributions import unpack
from tests.helm.manifests import ManifestError
from tests.helm.programs import (
    HELM_3,
    HELM_4,
    Distribution,
    Helm,
    HelmError,
    HelmMissingError,
    find,
    find_or_skip,
)
from tests.helm.tiny_chart import write_chart

FAKE = "#!/bin/sh\necho v9.8.7\n"


def folder_of(parent: Path, text: str = FAKE) -> Path:
    parent.mkdir(parents=True)
    for name in ("helm", "kubectl"):
        (parent / name).write_text(text)
        (parent / name).chmod(0o755)
    return parent


def wheel_of(folder: Path) -> Path:
    """Write a wheel as the real one is packed: programs in a zip in a tar in a wheel."""
    layer, package = io.BytesIO(), io.BytesIO()
    with zipfile.ZipFile(layer, "w") as programs:
        programs.writestr("helm/helm", FAKE)
        programs.writestr("kubectl/kubectl", FAKE)
    with tarfile.open(fileobj=package, mode="w:gz") as inner:
        member = tarfile.TarInfo("package/lib/layer.zip")
        member.size = len(layer.getvalue())
        inner.addfile(member, io.BytesIO(layer.getvalue()))
    wheel = folder / "shoal_test_helm-9.8.7-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as outer:
        outer.writestr("shoal_test_helm/lib.jsii.tgz", package.getvalue())
        about = "shoal_test_helm-9.8.7.dist-info"
        outer.writestr(f"{about}/METADATA", "Metadata-Version: 2.1\nName: shoal-test-helm\nVersion: 9.8.7\n")
        outer.writestr(f"{about}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        outer.writestr(f"{about}/RECORD", "")
    return wheel


@pytest.fixture
def wanted(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Distribution:
    """A version in a wheel that pip finds in a folder, and an empty cache."""
    monkeypatch.delenv("SHOAL_HELM9", raising=False)
    monkeypatch.delenv("SHOAL_REQUIRE_HELM", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path))
    wheel = wheel_of(tmp_path)
    digest = hashlib.sha256(wheel.read_bytes()).hexdigest()
    return Distribution(version="9.8.7", variable="SHOAL_HELM9", package="shoal-test-helm==9.8.7", sha256=digest)


def test_what_is_not_there_is_fetched_once(
    wanted: Distribution, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """
    The first search fetches the wheel and keeps the programs by version; the next needs no pip.
    """
    found = find(wanted, home=tmp_path)
    assert found.path == tmp_path / "cache" / "shoal" / "helm" / "9.8.7" / "helm"
    assert found.kubectl.is_file()
    monkeypatch.setenv("PIP_FIND_LINKS", "")
    assert find(wanted, home=tmp_path) == found


def test_a_wheel_with_another_digest_is_an_error(wanted: Distribution, tmp_path: Path) -> None:
    """
    It is not a reason to skip, and nothing of it is kept.
    """
    with pytest.raises(HelmError, match="has the digest"):
        find_or_skip(replace(wanted, sha256="0" * 64), home=tmp_path)
    assert not (tmp_path / "cache" / "shoal").exists()


def test_without_helm_a_test_skips_and_says_why(
    wanted: Distribution, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """
    With SHOAL_REQUIRE_HELM=1 it fails instead.
    """
    monkeypatch.setenv("PIP_FIND_LINKS", "")
    with pytest.raises(pytest.skip.Exception, match=r"(?s)fetch shoal-test-helm==9\.8\.7: .*No matching"):
        find_or_skip(wanted, home=tmp_path)
    monkeypatch.setenv("SHOAL_REQUIRE_HELM", "1")
    with pytest.raises(pytest.fail.Exception, match="SHOAL_REQUIRE_HELM=1, but pip could not fetch"):
        find_or_skip(wanted, home=tmp_path)


def test_a_named_folder_comes_first(wanted: Distribution, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """
    The variable's folder is used as it is; one without helm, or with another major version, is an error.
    """
    monkeypatch.setenv(wanted.variable, str(folder_of(tmp_path / "mine")))
    assert find(wanted, home=tmp_path).path == tmp_path / "mine" / "helm"
    monkeypatch.setenv(wanted.variable, str(folder_of(tmp_path / "old", "#!/bin/sh\necho v3.1.2+g1\n")))
    with pytest.raises(HelmError, match=r"is not a Helm 9, it says: v3\.1\.2"):
        find(wanted, home=tmp_path)
    monkeypatch.setenv(wanted.variable, str(tmp_path))
    with pytest.raises(HelmError, match="has no program helm"):
        find(wanted, home=tmp_path)


def test_without_kubectl_the_reason_is_that(
    wanted: Distribution, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """
    A Helm alone renders, but what needs kubectl says that it is missing.
    """
    monkeypatch.setenv(wanted.variable, str(folder_of(tmp_path / "mine")))
    (tmp_path / "mine" / "kubectl").unlink()
    with pytest.raises(HelmMissingError, match="no kubectl beside"):
        assert find(wanted, home=tmp_path).kubectl


def test_workers_that_fetch_at_once_end_with_one_whole_copy(tmp_path: Path) -> None:
    """
    Each may be first; all find both programs, and no half copy stays behind.
    """
    wheel = wheel_of(tmp_path)
    digest = hashlib.sha256(wheel.read_bytes()).hexdigest()
    folder = tmp_path / "cache" / "9.8.7"
    faults: list[Exception] = []

    def fetch() -> None:
        try:
            unpack(wheel, sha256=digest, folder=folder)
            assert (folder / "helm").read_text() == (folder / "kubectl").read_text() == FAKE
        except Exception as error:  # of a thread, it would be lost
            faults.append(error)

    threads = [threading.Thread(target=fetch) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert faults == []
    assert list(folder.parent.iterdir()) == [folder]


def test_both_major_versions_are_there(helm3: Helm, helm4: Helm) -> None:
    """
    What is found is of the line it should be, with kubectl beside it.
    """
    assert helm3.version.split(".")[0] == HELM_3.version.split(".")[0] == "3"
    assert helm4.version.split(".")[0] == HELM_4.version.split(".")[0] == "4"
    for helm in (helm3, helm4):
        assert "clientVersion" in helm.run("version", "--client", "--output=json", program=helm.kubectl)


def test_nothing_of_the_users_is_read(helm: Helm, monkeypatch: pytest.MonkeyPatch) -> None:
    """
    Neither the user's variables nor folders reach Helm.
    """
    monkeypatch.setenv("HELM_NAMESPACE", "production")
    monkeypatch.setenv("KUBECONFIG", "/production")
    said = helm.run("env")
    assert "production" not in said
    folders = [line for line in said.splitlines() if "_HOME=" in line]
    assert len(folders) == 3
    assert all(str(helm.home) in line for line in folders)


def test_a_chart_becomes_objects(helm: Helm, tmp_path: Path) -> None:
    """
    Values files are taken in order, the last one wins, and hooks and tests are among the objects.
    """
    chart = write_chart(tmp_path)
    helm.lint(chart, values=[{"color": "red"}])
    objects = helm.template(chart, values=[{"color": "red", "replicas": 7}, {"color": "green"}], name="some")
    named = {f"{one['kind']}/{one['metadata']['name']}": one for one in objects}
    assert named.keys() == {
        "ConfigMap/some-settings",
        "Service/some",
        "Deployment/some",
        "Job/some-before",
        "Pod/some-test",
    }
    assert named["ConfigMap/some-settings"]["data"] == {"color": "green"}
    assert named["Deployment/some"]["spec"]["replicas"] == 7


def test_a_failure_shows_what_helm_said(helm: Helm, tmp_path: Path) -> None:
    """
    Its standard error is in the message, of a template that does not render and of a chart that lint refuses.
    """
    chart = write_chart(tmp_path)
    (chart / "templates" / "broken.yaml").write_text("{{ unheard }}")
    with pytest.raises(HelmError, match='"unheard" not defined'):
        helm.template(chart)
    with pytest.raises(HelmError, match='"unheard" not defined'):
        helm.lint(chart)


def test_a_key_that_stands_twice_is_found_though_helm_renders_it(helm: Helm, tmp_path: Path) -> None:
    """
    Helm itself takes the last of two equal keys without a word.
    """
    chart = write_chart(tmp_path)
    settings = chart / "templates" / "configmap.yaml"
    settings.write_text(settings.read_text() + "data: {color: other}\n")
    with pytest.raises(ManifestError, match="the key 'data' stands twice"):
        helm.template(chart)
