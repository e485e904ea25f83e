"""Messages that leave out whose they are: «broke up with jake», 快递到了没, «roll back the release» (D3)."""

import re

#: A sentence without its subject, or a question without its thing.
UNFINISHED = re.compile(
    r"\A\W*(?:can['’]?t|cannot|couldn['’]?t|didn['’]?t|haven['’]?t|hasn['’]?t|isn['’]?t|aren['’]?t|wasn['’]?t|won['’]?t|doesn['’]?t|feel(?:ing|s)?|felt|broke|got|lost|found|finished|passed|failed|moved|bought|sold|quit|met|went|had|saw"
    r"|just|running|heading|leaving|stuck|pregnant|engaged|married|exhausted|finally|still|almost|gained|started|stopped|booked|ordered|paid|tried|ran|hurt|slept|woke|ate|argued|fought|landed|arrived|been|not feeling|will the|am|have (?:the|they|any|all|both|those|these))\b"
    r"|\A\W*(?:status|progress|updates?|news|eta|results?|outcome|whereabouts) (?:of|on|for|from)\b|\b(?:gifts?|presents?|outfits?|date|dinner|birthday|party) (?:ideas? )?for\b"
    r"|\b(?:the|our) (?:baby|twins|kids?|puppy|cat|dog|boss|doctor|vet|car|house|wedding|party)\b|\bnew (?:phone|number|address|job|email|boss|flat|apartment|house)\b|\b(?:pager|alert|alarm|incident|outage|deploy\w*|build|pipeline) (?:went|fired|failed|broke|keeps|again)\b|\bsays (?:hi|hello|yes|no)\b"
    r"|([一-鿿])[不没沒]\1|要[一-鿿]{1,4}了\W*\Z|\A新[一-鿿]{1,3}(?:是|叫)|\A[妈媽爸爷爺奶娃](?!呀)"
    r"|[一-鿿]{2,20}[没沒]有?[呀啊呢嘛]?\W*\Z|[一-鿿]{1,8}[还還]是[一-鿿]{1,8}|(?:又|[终終]于|已[经經]|[总總]算)[一-鿿a-z]{1,12}了\W*\Z"
    r"|(?:看完|[换換]|搬|分手|[辞辭]|[离離][职職婚]|入[职職]|[结結]婚|[怀懷]孕|生病|感冒|[发發][烧燒]|[毕畢][业業]|考[上过過]|升[职職]|失[业業]|失[恋戀]|住院|出院|出生|到[货貨]|[买買]|[卖賣]|修好|睡不着|吵架|弄[坏丢]|摔|胖|瘦)[一-鿿]{0,6}了",
    re.IGNORECASE,
)
#: Something to be done about a certain thing, or for a certain person.
ERRAND = re.compile(
    r"\A\W*(?:please |pls )?(?:(?:roll ?back|restart|reboot|revert|reschedule|cancel|postpone|resume|renew|update|send|forward|redeploy|reopen|close|reply to|check on|follow up on) (?:the|that|this|all|both)\b"
    r"|(?:book|order|reserve|invite|call|text|ping|message|email|tell|ask) (?:the|some|more|another|extra|a (?:table|room|taxi|cab|haircut|flight|car)|(?-i:[A-Z][a-z]+))\b)"
    r"|回[滚滾]|重[启啟]|(?:取消|改期|改[签簽]|推[迟遲]|[续續][费費约約])[一-鿿]|[预預][订訂定]|[约約][个個一]|[发發寄转轉打][给給]|[转轉]告|把[一-鿿a-z]{1,12}(?:更新|[换換]成|[发發]|寄|[约約])",
    re.IGNORECASE,
)
