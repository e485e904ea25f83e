"""Sentences that only keep company: thanks with a reason, praise, good wishes, questions to the bot about itself (D3)."""

import re

_TAIL = r"[\s!.,~～。！，、…)(:;^\-\U0001F300-\U0001FAFF☀-➿️‍]*+"
_EN_OPENING = r"(?:(?:oh|ah|aw+|ok|okay|well|great|cool|nice|perfect|yes|yeah|no|haha|lol|wow|omg|alright|right|hey|hi|hello|thanks|thx|ty|thank you|thank u|cheers|good (?:morning|night|evening|afternoon)|so|and|then|sorry|got it|gotcha|will do|makes sense|i see|noted|thank you kindly|thank you so much|that['’]?s it|ah+|understood|aww+|tysm|okie dokie|yup|yep)(?:[\s,!.]++|\Z)){0,3}"
_VERY = r"(?:(?:so|very|really|most|super|quite|pretty|absolutely|incredibly|extremely|always|such|a|an|just|all|too|already) ){0,3}"
_GOOD = r"(?:helpful|great|good|kind|nice|awesome|amazing|patient|funny|hilarious|useful|perfect|brilliant|lovely|sweet|wonderful|fantastic|quick|fast|easy|clear|smart|clever|cute|excellent|fun|interesting|impressive|wild|crazy|insane|cool|lifesaver|star|legend|gem|angel|genius|help|joy|delight|relief|hero|friend|friends)"
#: English clauses that say nothing to look up.
_EN_SOCIAL = re.compile(
    rf"{_EN_OPENING}(?:"
    rf"(?:you|u)(?:['’]?ve| have| were|['’]?re| are| r|r) (?:been )?{_VERY}{_GOOD}(?: {_GOOD})?(?: (?:to me|today|as always|indeed|man|mate|bot|buddy))?"
    rf"|(?:that|this|it|these|those|they)(?:['’]?s| is| was| are| were| sounds| looks| seems) {_VERY}{_GOOD}(?: (?:indeed|man|mate|to (?:know|hear)|of you))?"
    r"|(?:that|this|it) (?:worked|works|helped|helps|did it|fixed it|did the trick|solved it|makes sense)(?: (?:now|perfectly|great|fine|well|a lot|so much|for me|like a charm))?"
    r"|(?:you|u|that|this|it) (?:just )?(?:saved|made) my (?:day|life|bacon|week|night|morning)|(?:you|u|that|this) (?:crack|cracks|cracked) me up|(?:just|exactly) what i (?:needed|wanted|was looking for|meant)|that['’]?s (?:the one|it|right|exactly it)"
    r"|i (?:see|get it|understand|know)(?: now)?|i['’]?(?:ll|m) (?:let (?:you|u) know|be (?:back|right back|there)|back|home|here|off|out|done|good|fine|ok|okay)(?: (?:now|soon|later))?|(?:great|good|nice|amazing|awesome) (?:work|job)(?: (?:today|everyone|team|all|guys|as always))*|(?:may )?god bless(?: (?:you|u|all))*"
    r"|(?:talk|see|speak|chat|catch)(?: to| with)?(?: you| u| ya)? (?:tomorrow|later|soon|then|tonight|next week)"
    r"|i (?:will|['’]?ll|ll)|i['’]?ll (?:try|do|check|look at|see|give|take|go with|think about|use|test|read)(?: (?:it|that|this|them|a|out|later|now|try|look|first|both|again|shot|go))*"
    r"|let me (?:try|check|see|think|look)(?: (?:it|that|this|about|out|first|for|a|sec|second|minute))*"
    r"|i (?:really |truly |so |do )?(?:love|like|adore|appreciate) (?:you|u|it|this|that|your help|everything|talking (?:to|with) you)(?: (?:bot|so much|very much|a lot|man|mate|all|guys))*"
    r"|(?:have|enjoy|wish(?:ing)?) (?:you |y['’]?all |everyone |u )?(?:a |an |your )?(?:(?:very|nice|great|good|lovely|safe|wonderful|happy|relaxing|the|rest of|rest|of|your) ){0,4}(?:day|night|evening|afternoon|weekend|morning|week|one|trip|time|christmas|holidays?|sleep)(?: (?:ahead|everyone|all|too|now))?"
    r"|(?:thanks|thank (?:you|u)|thx|many thanks|cheers) (?:\w+ ){0,3}(?:for (?:\w+ing|the|your|all|that|this)(?: \w+){0,4}|kindly|ever so much|anyway|everyone|all|bot|friend|dear)"
    r"|(?:merry|happy) (?:christmas|new year|easter|birthday|holidays|friday|weekend|diwali|eid|thanksgiving|halloween|lunar new year)(?: (?:to )?(?:you|all|everyone|everybody|you all|guys|team))*"
    r"|(?:good )?(?:morning|night|evening|afternoon) (?:all|everyone|team|guys|folks|bot|dear|my friend|to you(?: all)?|sunshine|everybody|friends)"
    r"|(?:congrats|congratulations|welcome back|welcome|nice (?:to meet|meeting) you|pleased to meet you|long time no see|take care|get some rest|sweet dreams|hugs|love (?:you|ya|u)|miss you|i missed you|don['’]?t worry|no hurry|take your time)(?: (?:all|everyone|bot|so much|too|about it|guys|team|now|to you))*"
    rf")?(?:[\s,!.]+(?:thanks|thank (?:you|u)|thx|ty|bye|cheers|then|again|indeed|so much|lol|haha|man|mate|too|much))*{_TAIL}",
    re.IGNORECASE,
)
_ZH_LEAD = r"(?:(?:好[的哒滴嘞吧呀]?|(?:你|您)辛苦了?|嗯++|哦|行|可以|ok|那|哈++|谢谢(?:你|您)?|多谢|辛苦了?|知道了|明白了?|收到|再见|拜拜|晚安|早安?|早呀|早上好|中午好|晚上好|你好|没事|对|是的|哇|太好了)[了啦呀啊吧哦噢\s,，。!！~～、]*+){0,4}"
_ZH_SOCIAL = re.compile(
    rf"{_ZH_LEAD}(?:"
    r"(?:真的?)?(?:太|非常|十分|很|真)?(?:谢谢|感谢|多谢)(?:你|您|大家|各位|你们)?(?!.*(?:昨|上次|推荐|那))[^?？,，。\d但]{0,14}"
    r"|(?:我)?(?:爱|想|喜欢|超爱|最爱|好爱|好喜欢|最喜欢)(?:死)?(?:你|您|你们)"
    r"|(?:那)?我(?:先|再|自己|去|这就|马上|回头|晚点|等下|待会)*(?:想想|试试|试一下|试下|看看|看一下|看下|考虑(?:考虑|一下|下)?|研究(?:一下|下|研究)?|消化一下|忙(?:去|一会)?|去忙|睡|撤|走|下|溜|闪|吃饭(?:去)?|洗澡(?:去)?|休息)"
    r"|(?:就)?(?:按|照|听|依)(?:你|您)(?:说)?的(?:办|来|做|吧)?"
    r"|(?:祝|愿)(?:你|您|大家|你们|各位|福)?[^?？,，。\d]{0,12}|(?:今天|明天|一起|继续)?(?:也)?要?加油|(?:新年|生日|节日|周末|圣诞|中秋|国庆|五一|元旦|端午|春节|情人节)(?:快乐|愉快|好|安康)[^?？\d]{0,6}|恭喜(?:发财|你|您|啊|恭喜)*|万事如意|一路顺风|一路平安"
    r"|(?:你|您)(?:可)?(?:真|太|好|真是|真的|简直|就是|最(?![近后早初新])|很|超|实在|也太|人真|真心|可真)(?:的|是)?(?!.*(?:[我他她记说提谁哪]|上次|知道|推荐|什么|怎))[^?？,，。\d]{1,10}"
    r"|(?:这个?|那个?)?(?:真|太|好|真是|可)(?:有意思|可爱|聪明|会|搞笑|好笑|有趣|逗|牛|强|厉害|给力|贴心|赞|绝|有用|方便|快|棒|香|实用|详细|清楚)(?:了|啦|吧|呀|啊){0,2}(?:你|您)?"
    r"|(?:你|您)?(?:早点|好好)(?:休息|睡)|(?:你|您)(?:先)?(?:忙|休息)|(?:吃|睡)(?:了|过)(?:吗|没|么)|(?:让|麻烦|辛苦|打扰|难为)(?:你|您)(?:久等|费心|了)*|(?:有|能)(?:你|您)真好|(?:回|改天|有空|下次|晚点|明天|明儿|回头|以后)(?:再)?(?:聊|见|说)|(?:这)?(?:正|就)是我(?:想)?(?:要|需要)的|(?:你|您)救了我(?:一命|的命)?|感恩有(?:你|您)|客气(?:啥|什么)|(?:早上?|中午|下午|晚上|大家|各位)好|就是(?:这个|它|这样)|(?:先)?(?:不|没)(?:打扰|聊|说)(?:你|您)?"
    rf")[了啦呀啊哈吧哦噢呢哟嘛的]*(?:各位|大家|同学们|朋友们|宝|亲|家人们|老铁|兄弟)*(?:么么哒?|比心|抱抱|mua)?(?:[\s,，!！。~～]*(?:谢谢|多谢|辛苦|拜拜|再见|晚安|哈哈+|谢谢(?:你|您))[了啦呀啊]*)*{_TAIL}",
    re.IGNORECASE,
)
#: Questions to the bot about the bot.
_EN_BOT = re.compile(
    rf"{_EN_OPENING}(?:what(?:['’]?s| is) (?:your|ur) (?:\w+ )?(?:name|age|job|purpose|gender|favou?rite \w+|model|version|birthday|hobby|hobbies)|how old are (?:you|u)|where (?:are you from|do you live|were you (?:made|born))|who (?:made|created|built|trained|developed|owns|programmed) (?:you|u)|what(?:['’]?s| is) up|how(?:['’]?s| is| was| are) (?:your|ur|the) (?:day|morning|evening|weekend|night|life)(?: going| so far)?"
    r"|how (?:are|r|have) (?:you|u|ya)(?: been| feeling| doing| all)*(?: today| tonight| this morning)?|how do you do|do (?:you|u) (?:have (?:feelings|a name|emotions|a soul|friends|consciousness)|sleep|eat|dream|get tired|like (?:me|humans|music|being \w+)|love me|speak \w+|understand \w+)|can (?:you|u) (?:speak|sing|feel|dream|see|hear|understand|talk|draw|swim|dance|cook|code)(?: \w+)?"
    rf"|are (?:you|u) (?:an? |a real )?(?:\w+)|(?:tell me|say something) about (?:yourself|you)|introduce yourself|what (?:day|time|date|year) is (?:it|today)(?: today| now)?|what(?:['’]?s| is) (?:the date|today['’]?s date|the time)(?: today| now)?|what time is it(?: now| right now)? in \w+(?: \w+)?|you there){_TAIL}[?？]*{_TAIL}",
    re.IGNORECASE,
)
_ZH_BOT = re.compile(
    rf"{_ZH_LEAD}(?:(?:你|您)(?:叫(?:什么|啥)(?:名字)?|今年)?(?:几岁|多大|多少岁|贵姓|(?:会|能)(?:不会|不能)?(?:说|唱|跳|画|写|讲|下|听|看|做|聊|思考|编程|玩|陪|游泳|煮|哭|笑|累|死|困|撒谎|骗)[^我?？]{{0,6}}|是(?:哪|谁|什么|男|女|真|机器|ai|人|不是|中国|学生|chat|gpt)[^我?？]{{0,12}}|有(?:没有)?(?:感情|情感|意识|名字|男朋友|女朋友|对象|朋友|灵魂|身体|爱好|性别)(?:没有)?|(?:最)?喜欢(?:什么|啥|哪)[^我?？]{{0,8}}|来自哪里?|住(?:在)?哪里?儿?|需要(?:睡觉|休息|吃饭)|累不累|开心|寂寞|无聊|好不好|睡觉|吃饭|谁|哪位|好|怎么样)?"
    r"|谁(?:开发|创造|制造|设计|训练)(?:了)?(?:你|您)(?:的)?|(?:自我)?介绍(?:一)?下?(?:你|您)?自己|(?:今天|现在)?(?:是)?(?:星期|周|礼拜)几|今天(?:是)?(?:几月)?几[号日]|今天(?:农历|阴历)?(?:是)?几号|今年(?:是)?(?:哪一?年|几几年|什么年)|现在(?:是)?几点(?:钟)?|(?:(?![我家你那这])[一-鿿]){2,4}现在(?:是)?几点|(?:你|您)(?:叫|是叫)(?:什么|啥)(?:名字)?)"
    rf"[了啦呀啊吗么呢嘛哈的]*[?？\s]*{_TAIL}",
    re.IGNORECASE,
)
_WEATHER = re.compile(
    r"(?:hey |hi |so )?(?:(?:what|how|what['’]?s|how['’]?s|hows|whats)(?: is| will)? (?:the )?(?:weather|forecast|temperature)(?: be)?(?: like)?(?: outside)?(?: (?:in|for) (?:[a-z]+ ?){1,2})?(?: (?:today|tomorrow|tonight|now|this week|this weekend|right now))?|(?:will|is) it (?:going to |gonna )?(?:rain\w*|snow\w*|be (?:hot|cold|sunny)|hot|cold|sunny)(?: outside)?(?: in [a-z]+)?(?: (?:today|tomorrow|tonight|now|this weekend))?)[\s?!.]*"
    r"|(?:今天|明天|后天|今晚|明早|周末|这周|本周|现在|最近|下周)?(?:(?![我家你那这])[一-鿿]){0,4}?(?:今天|明天|后天|周末|这周)?(?:的)?(?:天气|气温|空气质量)(?:怎么样|如何|咋样|怎样|好吗|好不好|预报|多少度?)?[啊呀呢吗]*[\s?？。!！]*|(?:今天|明天|后天|今晚|周末|这周)?(?:(?![我家你那这])[一-鿿]){0,3}?(?:会)?(?:不会)?(?:下雨|下雪|热不热|冷不冷|有雨|多少度|几度)[吗嘛么呢啊]*[\s?？]*",
    re.IGNORECASE,
)


def is_social(text: str) -> bool:
    """Whether a whole message, in simplified script, is thanks, praise, a promise to try or a good wish."""
    return _EN_SOCIAL.fullmatch(text) is not None or _ZH_SOCIAL.fullmatch(text) is not None


def is_small_talk(text: str) -> bool:
    """Whether a whole message asks the bot about itself, the hour or the weather."""
    return any(pattern.fullmatch(text) for pattern in (_EN_BOT, _ZH_BOT, _WEATHER))
