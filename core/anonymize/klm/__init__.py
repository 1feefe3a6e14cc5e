"""(k,l)^m-anonymity by Select-Organize-Anonymize: ZGA and SGA. See ``core/anonymize/klm.md``.

keys.py      select: z-values, keys of people, Gray order
organize.py  organize: clusters, how many; the entry functions
window.py    one window in a given number of clusters
lm_anon.py   anonymize: one cluster, by merging
suppress.py  what merging leaves, by suppressing sensitive visits
carriers.py  who was at which sensitive location
"""

from core.anonymize.klm.organize import Clusters, lm_anon, sga, zga
from core.anonymize.klm.window import Clustered

__all__ = ["Clustered", "Clusters", "lm_anon", "sga", "zga"]
