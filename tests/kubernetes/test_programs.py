"""How the control plane is built from modules."""

from __future__ import annotations

from tests.kubernetes.programs import published


def test_go_mod_names_published_modules_alone() -> None:
    """What stands in folders beside it is the published module of that name; other versions stay, v0.0.0-... too."""
    go_mod = """\
module k8s.io/kubernetes
require (
\tgithub.com/munnerz/goautoneg v0.0.0-20191010083416-a7dc8b61c822
\tk8s.io/apimachinery v0.0.0
\tk8s.io/utils v0.0.0-20250604170112-4c0f3b243397
\tsigs.k8s.io/json v0.0.0-20241014173422-cfa47c3a1cc8 // indirect
)
replace (
\tk8s.io/apimachinery => ./staging/src/k8s.io/apimachinery
)
replace go.etcd.io/etcd/api/v3 => ../api
"""
    wanted = """\
module k8s.io/kubernetes
require (
\tgithub.com/munnerz/goautoneg v0.0.0-20191010083416-a7dc8b61c822
\tk8s.io/apimachinery v0.34.2
\tk8s.io/utils v0.0.0-20250604170112-4c0f3b243397
\tsigs.k8s.io/json v0.0.0-20241014173422-cfa47c3a1cc8 // indirect
)
replace (
)
"""
    assert published(go_mod) == wanted
