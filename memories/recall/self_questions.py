"""Whether a message asks about the one who asks: «what am I allergic to?», 我对什么过敏？

In a group the words of others are no answer to that (A5). «Tell me the password» and 我想知道密码 are not about the
asker, though they say «me» and 我; nor is «how do I log in?», which asks how anybody does.
"""

import re
from collections.abc import Sequence

from memories.language import names
from memories.models import Scope
from memories.recall.speakers import name_in

LOOK_CHARS = 2_000  # of a long message its end, where people ask

_ENGLISH = re.compile(r"\b(?:i|me|my|mine|myself|i['’](?:m|ve|d|ll)|im|ive)\b", re.IGNORECASE)
#: 我们 and 咱们 are more than the one who asks, and so is who speaks for a company or a country.
_CHINESE = re.compile(r"(?:我|俺|咱|吾|本人|人家|自己)(?![们們国國司党黨军軍厂廠方])")
#: Asking to be told, and not about oneself. What follows may be about oneself all the same.
_ENGLISH_FRAMES = re.compile(
    r"(?:^|[.,!?;:]|\b(?:please|you|and|to|just))\s*"
    r"(?:tell|remind|give|show|send|help|let|teach|find|get|read|list|excuse|allow)\s+me\b"
    r"|\bfor me\b"
    r"|\bi\s*(?:just|really|still|also)?\s*(?:want|need|would like|['’]d like|wanted|have|am trying|['’]m trying)"
    r"\s+to\s+(?:know|ask|check|see|find|confirm|understand|look|learn|figure|make sure)\b"
    r"|\bi\s*(?:just|really|have|['’]ve)?\s*(?:forgot|forget|forgotten|wonder|guess|think|believe|suppose|hope|see"
    r"|mean|am asking|['’]m asking|am wondering|['’]m wondering|was wondering|am looking for|['’]m looking for)\b"
    r"|\bi\s+(?:don['’]?t|do not|can['’]?t|cannot|can not|no longer)\s+(?:remember|recall|know|find|see|think)\b"
    r"|\bdo i\s+(?:know|remember)\b|\bif i\s+(?:remember|recall)\b",
    re.IGNORECASE,
)
#: «How do I», «where can I», «should I»: what anybody would do.
_ENGLISH_ANYBODY = re.compile(
    r"\b(?:how|where|when|what|which|who|whom)\s+(?:can|could|do|should|must|would|may|shall)\s+i\s+"
    r"(?:use|log|sign|connect|get|find|set|install|run|start|stop|open|reach|contact|ask|call|join|book|access|reset"
    r"|deploy|submit|report|pay|send|turn|enter|park|go|see|download|update|fix|build|test|write|read|apply|request|do)\b"
    r"|\b(?:can|could|may|should|must|shall)\s+i\b",
    re.IGNORECASE,
)
_CHINESE_FRAMES = re.compile(
    r"(?:告诉|告訴|提醒|帮|幫|给|給|替|教|让|讓|请|請|发|發|跟|和|对|對|为|為)一?下?我(?=[说說讲講查看找问問想列发發读讀念算写寫记記]|一下|们|們|[，,。]|$)"
    r"|(?:告诉|告訴|提醒|帮|幫|替|教|让|讓|发给|發給|发|發)我"
    r"|我(?:就|只是|还|還|也|很|真的)?(?:想|要|需要|得|来|來)(?:知道|问|問|了解|瞭解|确认|確認|查|看看|请教|請教|打听|打聽|弄清)(?:一下|下)?"
    r"|我(?:有点|有點|又|都|已经|已經)?(?:忘了|忘记了?|忘記了?|不记得|不記得|记不得|記不得|记不清|記不清|想不起来?|不知道|不清楚|记得|記得|在想|猜)"
)
_CHINESE_ANYBODY = re.compile(
    r"我(?:们)?(?:能|可以|可|应该|應該|应|應|该|該|要|得|需要)?(?:怎么|怎麼|怎样|怎樣|如何|去哪|去哪里|在哪里可以|到哪)"
    r"(?:才能|能|可以|去|来|來)?(?:用|登|连|連|申请|申請|找|联系|聯繫|设置|設置|安装|安裝|启动|啟動|打开|打開|进|進|加入|订|訂|访问|訪問|重置|部署"
    r"|提交|报|報|付|停|下载|下載|更新|修|改|装|裝|看|查|领|領|拿|做|办|辦)"
    r"|(?:怎么|怎麼|怎样|怎樣|如何|哪里|哪裡|哪儿)我?(?:能|可以|才能)我?|我(?:能|可以|应该|應該|该|該)"
)


def is_about_asker(message: str, named: Sequence[tuple[int, str]], scopes: Sequence[Scope], asker: str) -> bool:
    """Whether a message asks about whom it comes from, and names nobody else of the speakers (scope and name)."""
    if not asks_about_asker(message):
        return False
    own = {names.fold(name) for scope in scopes for name in (asker, name_in(scope, asker)) if name}
    return all(names.fold(speaker) in own for _scope, speaker in named)


def asks_about_asker(message: str) -> bool:
    """Whether the one who asks is asked about, in English or Chinese, simplified or traditional."""
    said = names.simplify(message.strip()[-LOOK_CHARS:])
    for aside in (_ENGLISH_FRAMES, _ENGLISH_ANYBODY, _CHINESE_FRAMES, _CHINESE_ANYBODY):
        said = aside.sub(" ", said)
    return bool(_ENGLISH.search(said) or _CHINESE.search(said))
