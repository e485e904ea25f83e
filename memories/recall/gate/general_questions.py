"""Questions that are general by how they are built: about things of a kind, not about a certain one (D3).

«Does honey go bad» asks of all honey, «is the honey gone» of a certain jar: bare nouns, «a …», «you» and «how to» are
general; names, pronouns, «the …», what has happened and what is left are somebody's own.
"""

import re

from memories.recall.gate.vocabulary import ANY_LOCAL, CHINESE_LOCAL, NAME, PERSONAL, POSSESSIVE, TECHNOLOGY
from memories.recall.gate.world_knowledge import PLACES, ZH_PLACES

MOST_CHARS, MOST_CHINESE = 90, 24  # longer questions tell of a life

_MATTER = (
    r"coffee|tea|honey|milk|butter|cheese|bread|rice|pasta|chicken|beef|pork|fish|salmon|tuna|shrimp|tofu|eggs?|avocado|tomato|potato|onion|garlic|chocolate|sugar|salt|alcohol|wine|beer"
    r"|water|ice|glass|gold|silver|lead|iron|steel|copper|plastic|wood|oil|gas|gum|yeast|flour|vinegar|bleach|aspirin|ibuprofen|melatonin|creatine|protein|fiber|gluten|msg|mold|rust|light|sound"
    r"|heat|air|fire|snow|rain|lightning|thunder|hail|fog|blood|sweat|hair|skin|bread|meat|fruit|bamboo|grass|moss|wool|silk|cotton|leather|concrete|paper|ink|yogh?urt|mayo\w*|ginger|turmeric|sunlight|exercise|yoga|sleep|smoking"
)
_ASKED = r"(?:is|are|does|do|can|should|will|could|would)"
_NAMES = (
    r"(?:jonas|james|chris|thomas|lucas|nicholas|carlos|luis|marcus|dennis|alexis|doris|iris|agnes|charles|ross|jess|tess|russ|boris|elias|tobias|andreas|klaus|hans|lars|niklas|nils|mars"
    r"|this|was|has|its|his|hers|ours|theirs|yours|us|things|guests|guys|folks|parents|friends|mates|lads|movers|classes|lessons|doors|lights|sales|grades|results|photos|pics|docs|files|logs|kids|boys|girls)"
)
_PLURAL = rf"(?!{_NAMES}\b)(?:\w{{3,}}[^s\Wui]s|people|men|women|fish|sheep|mice|geese|deer)"
_OF_A_KIND = re.compile(
    rf"^\W*(?:(?:why|how|where|what|which) (?:\w+ ){{0,2}})?{_ASKED} (?:(?:raw|cold|hot|green|black|dark|red|white|eating|drinking|too much|most|all|some|baby|adult|wild|male|female) )?(?:(?:{_MATTER})|{_PLURAL})\b"
    rf"|^\W*(?:(?:why|how|where|what|when|which|who) (?:\w+ ){{0,2}})?{_ASKED} an? \w+"
    rf"|^\W*(?:know )?(?:how|why|what|when|where) (?:(?:tall|old|big|fast|long|far|deep|high|heavy) )?{_PLURAL} \w+"
    r"|^\W*is \w+ (?:hard|easy|difficult) to (?:learn|read|cook|grow|play|speak|master)\b|\btime to (?:visit|plant|harvest|drink|exercise) \w+"
    r"|^\W*is it (?:safe|ok|okay|bad|good|healthy|unhealthy|legal|illegal|possible|true|dangerous|rude|normal|bad luck|harmful) (?:to|that|for)\b"
    r"|\b(?:should|must|can|could|if|when|do|would) (?:you|one|u)\b(?! (?:remember|know|have|think|feel|like|want|say|mean|tell|see|suggest|recommend|prefer))"
    r"|^\W*how to\b|^\W*how (?:much|many) .{1,30} in (?:an?|one)\b|\bwhich (?:one )?is \w+er\b|\bis \d[\d,.]* (?:an? )?(?:even|odd|prime|divisible)|^\W*what happens (?:if|when) (?:you|an?|one)\b"
    r"|\b(?:for (?:beginners|dummies)|substitute for|alternatives? to)\b|\b(?:advantages?|disadvantages|benefits|pros|cons|rules|ingredients|causes|point|purpose|history|origins?|function|role|effects?|risks|dangers|stages|types|kinds) of (?!my|our|the)\b"
    r"|^\W*what do you call\b|\bhow many \w+ (?:are )?(?:there )?in (?:the (?:world|english|bible|universe|human)|an?)\b|\bwhat (?:temperature|temp) (?:should|does|do|is)\b",
    re.IGNORECASE,
)
#: What only a thing of the world has, or is.
_ATTRIBUTE = re.compile(
    r"\b(?:scientific names?|recipe (?:for|of)|boiling \w+|melting \w+|freezing \w+|time ?zones?|normal body \w+|(?:average|typical|normal) (?:height|weight|temperature|salary|age|lifespan|life|heart rate|blood pressure)|life ?span|life expectancy|abbreviation|acronym|etymology"
    r"|native to|national \w+|tax rates?|exchange rates?|minimum wage|legal age|drinking age|mammals?|reptiles?|insects?|species|ancient|medieval|\w+ century|world record|first aid|poisonous|venomous|contagious|extinct|endangered|nutritional|calories in|stand for|largest|tallest|longest|oldest|fastest|deepest|smallest|highest|heaviest|hottest|coldest"
    rf"|(?:what['’]?s|what is|whats) new in (?:{TECHNOLOGY}))\b|\b(?:in|of|from|is|does|do|are) (?:the )?(?:{PLACES})\b",
    re.IGNORECASE,
)
#: Things of which there is one for everybody.
_ONE_FOR_ALL = re.compile(
    r"\b(?:trench|reef|strait|gulf of|peninsula|archipelago|canal|rainforest|glacier|constellation|comet|eclipse|equinox|solstice|hemisphere|dynasty|treaty of|daylight savings?|stock exchange|human (?:body|brain|heart|eye)"
    r"|sun (?:rise|set|so)|tide|northern lights|bermuda|golden gate|big ben|buckingham|vatican|hollywood|premier league|champions league|nba|nfl|fifa|nasa|united nations|european union)\b|\bthe (?:un|eu|who|nba|usa?)\b",
    re.IGNORECASE,
)
#: Somebody's own after all: a certain one, what has happened, how something stands.
_CERTAIN = re.compile(
    r"\b(?:the|this|that|these|those|there|it|they|them|did|was|were|had|has|been|left|still|already|yet|down|up|back|ready|here|any|anyone|anybody|enough|due|again|coming|mine|us)\b|\b(?:good|nice|better|fun|great) (?:places?|time|restaurant|gift|present|name|idea|spot|day)\b",
    re.IGNORECASE,
)
_SOMEBODY = re.compile(r"(?-i:\b[A-Z][a-z]+\b['’]s|\b(?:did|does|do|is|has|was|for|to|from|about) [A-Z][a-z]+)")
_LIVED = re.compile(r"\b(?:did|go|going|went|trip|visit\w*|stay\w*|fly\w*|office|they|them|that|this)\b", re.IGNORECASE)
_EASY_IT = re.compile(
    r"\bthe (?=(?:best|easiest|fastest|most \w+|main|biggest|safest) (?:time to (?:visit|plant|harvest|drink|exercise)|.{1,40}(?: for beginners| in history| of all time)))|^\W*is it \w+(?= (?:to|that|for)\b)|\bin the (?:world|universe|human|english|bible)\b",
    re.IGNORECASE,
)
_TECHNICAL = re.compile(
    rf"^\W*(?:what|why|how|when|which|where|can|is|are|does|should|do)\b.*\b(?:{TECHNOLOGY})\b", re.IGNORECASE
)

_ZH_MATTER = (
    r"蜂蜜|牛奶|酸奶|豆浆|鸡蛋|咖啡|绿茶|红茶|茶叶|白酒|啤酒|红酒|可乐|巧克力|螃蟹|柿子|西瓜|香蕉|苹果|橙子|葡萄|草莓|榴莲|芒果|菠萝|土豆|番茄|西红柿|萝卜|洋葱|大蒜|生姜|菠菜|豆腐|[羊牛猪鸡]肉|三文鱼|海鲜"
    r"|米饭|面条|馒头|面包|饺子|粽子|月饼|汤圆|燕麦|木耳|隔夜[菜茶]|剩菜|味精|酱油|白糖|红糖|食盐|猫|狗|兔|仓鼠|鹦鹉|金鱼|鸟|鱼|蛇|龟|马|牛|羊|猪|鸡|鸭|鹅|象|虎|狮|狼|熊|猴|鲸|鲨|蜂|蚁|蚊|蝶|蜘蛛|恐龙|企鹅|骆驼|长颈鹿"
    r"|多肉|绿萝|仙人掌|兰花|玫瑰|竹子|银杏|向日葵|树|孕妇|孕期|怀孕|哺乳|月子|婴儿|新生儿|老年人|成年人|感冒|发烧|咳嗽|高血压|低血糖|糖尿病|痛风|打嗝|失眠|口腔溃疡|落枕|抽筋|便秘|腹泻|拉肚子|痛经|近视|脱发|贫血|中暑|晕车"
    r"|胃炎|鼻炎|流感|阿司匹林|布洛芬|头孢|维生素|褪黑素|空腹|熬夜|黄金|白银|钻石|塑料|玻璃|氧气|氢气|二氧化碳|酒精|石油|水银|地震|台风|火山|海啸|闪电|打雷|彩虹|雪花|雾霾|日食|月食|流星|极光|潮汐|飞机|轮船|潜水艇|火箭"
    r"|微波炉|通货膨胀|复利|人工智能|机器学习|区块链|比特币|质数|偶数|奇数|三角形|圆|氧|氢|碳|铁|铜|铝|铅|沙漠|海沟|海水|血型|心脏|大脑|骨头|指甲|头发|眼睛|牙齿"
)
_ZH_CITIES = r"北京|上海|广州|深圳|成都|重庆|西安|杭州|南京|苏州|武汉|长沙|天津|青岛|厦门|昆明|大理|丽江|三亚|哈尔滨|大连|拉萨|桂林|洛阳|台北|高雄|香港|澳门|东京|大阪|京都|首尔|曼谷|巴黎|伦敦|纽约|罗马|云南|四川|新疆|西藏|海南"
_ZH_QUESTION = r"能|可以|会|怎么|如何|怎样|为什么|为啥|是什么|吗|多少|多久|多高|多长|多深|多远|哪|几|有什么|有啥|有多|什么|要不要|该不该|还是"
_ZH_SKILL = r"提高|提升|学|练|缓解|预防|治|去除|去掉|清洗|洗|保存|保养|养|种|挑选?|辨别|区分|判断|计算|证明|读取|遍历|画|折|系|煮|炒|煎|烤|蒸|炖|腌|炸|拌|卤|熬|焯|发酵|戒|减|增肌|入门|制作|避免|防止|形成|产生|来的|除|背|游泳|倒车|止血|急救|包扎"
_ZH_OF_A_KIND = re.compile(
    r"人口|学名|税率|汇率|朝代|哺乳动物|语系|纬度|经度|时区|传染|副作用|热量|卡路里|营养|沸|熔|元素|周期表|公式|定律|缩写|全称|学派|代表[作菜]|主要成分|产地|发源|灭绝|进化|寿命|品种|多少分?及格|法定|世界纪录|冠军是谁"
    r"|^人类|(?:作者|导演|主角|发明者|发明人)是谁|是?谁(?:作曲|作词|提出|画|演唱|主演|创立|创办|发明|创作|建造|发现|首创)|总部在|什么时候上映|票房|作词|作曲|主角是|一共(?:有)?(?:几|多少)[集部季回章]|(?:棋|麻将|斗地主|扑克|桥牌|数独|魔方|[篮足排网]球|乒乓球|羽毛球)(?:比赛)?(?:怎么[下打玩]|的?规则|一[节局场])"
    r"|(?:护照|签证|身份证|驾照|通行证|执照|居住证|社保卡|户口本?)(?:要)?(?:怎么|如何|去哪)(?:补?办|申请|换)|(?:外键|主键|索引|事务|闭包|装饰器|迭代器|协程|线程|进程|死锁|哈希|递归|继承|多态|抽象类|中间件|微服务|负载均衡|反向代理|防火墙|时间复杂度|设计模式|面向对象)\S{0,4}(?:是(?:什么|啥)|怎么|有(?:哪些|什么|啥)|为什么)"
    rf"|的[一两三四五六七八九]成是|单位(?:是什么|有哪些)|^(?:一个)?人(?:一天|每天|体|类|一辈子|为什么|为啥)|(?:{ZH_PLACES}|{_ZH_CITIES}).{{0,60}}(?:吗|什么|哪|几|多少|谁|怎么|为什么)"
    rf"|(?:{_ZH_MATTER}).{{0,60}}(?:{_ZH_QUESTION})|(?:{_ZH_QUESTION}).{{0,60}}(?:{_ZH_MATTER})"
    rf"|^\W*(?:要)?(?:怎么|如何|怎样|咋)(?:样)?(?:才能)?(?:{_ZH_SKILL})|^\S{{2,10}}?(?:是)?(?:怎么|如何|怎样|咋)(?:才能)?(?:{_ZH_SKILL})"
    r"|(?:面积|体积|周长|利息|复利|个税|bmi|平均数|方差|标准差|百分比|热量|质量|密度|速度|概率)(?:怎么|如何|咋)(?:算|求)|百分之\S{1,6}是?多少|内角和|鸡兔同笼|倍数|因数|公约数|(?:sin|cos|tan|log|ln)\s?\d|根号|[与和]\d+的|一元二次|解方程|求和|偶数|奇数"
    r"|^学\S{1,6}难|难学|一般(?:要|是|在|需要)?[一-鿿]{0,6}(?:几|多少|多久)|是(?:什么|啥)(?:做|组成|构成)的|(?:医保|社保|公积金|个税|保险|户口|基金|股票|期货|国债|征信)是(?:什么|啥|干|做)"
    r"|什么叫(?!的)|(?:主义|[科医化哲文力数]学|[理悖]论|智能|定律|定理|效应|现象|技术|算法|协议|综合征|[病炎币链])(?:是(?:什么|啥)|指的?是?(?:什么|啥))|(?:经理|[师员官]|科学家|顾问|中介)是(?:做|干)(?:什么|啥)的"
    r"|^[^的]{1,8}[和跟与][^的]{1,8}哪个(?:更|比较)?(?:好|重|轻|大|小|快|慢|高|长|贵|难|健康|有营养|甜|先|远|热|冷|强|厉害|硬|早)|^\S{2,8}(?:比\S{1,8})(?:大|小|重|快|好|高|长)吗"
    r"|有(?:什么|啥|何|哪些)(?:作用|好处|坏处|功效|用处|特点|危害|症状|影响|意义|典故|习俗)|的(?:工作|基本|发展|主要)?(?:历史|症状|做法|好处|坏处|危害|作用|过程|功效|起源|由来|来历|特点|特征|故事|定义|原理)(?:是(?:什么|啥)|有哪些)?\W*$|的(?:原因|方法|办法|类型|种类)有(?:哪些|什么)"
    rf"|^(?:去)?(?:{_ZH_CITIES})(?:旅游|旅行)?(?:有(?:什么|啥|哪些)|哪里)(?:好玩|好吃|特产|景点|特色|美食|名胜|大学|值得)|^(?:{_ZH_CITIES})[到离距](?:{_ZH_CITIES})|^(?:{_ZH_CITIES})(?:在哪个?|属于|的?(?:人口|面积|简称|市花|海拔|邮编|区号))|(?:{_ZH_CITIES})\S{{0,4}}有?多[高长大远]"
    r"|^\W*(?:一(?:个|只|头|名|场|局|副|打|般|年|天)|成年|正常|标准|每(?:个人|人)?|普通)[^了]{0,12}(?:几|多少|多久|多大)|(?:立[春夏秋冬]|[春秋]分|[冬夏]至|清明|五一|元旦|除夕|国庆|感恩节|万圣节|情人节|劳动节|儿童节)(?:是|放|在|有)?(?:几|哪|什么)"
    r"|(?:英语|英文|中文|汉语|日语|日文|法语|德语|韩语|韩文|西班牙语|粤语|俄语|泰语)(?:里|中)?\S{0,8}?(?:怎么|咋|如何|怎样)(?:说|讲|写|念|读|表达)"
)
_ZH_CERTAIN = re.compile(
    r"\d+[月日号]|^[孙李王张刘陈赵周吴徐胡朱林何郭罗梁宋郑谢韩唐冯董程曹袁邓许沈曾彭吕卢蒋蔡贾丁魏薛潘杜戴钟汪][一-鿿]{2}(?=[在的能会是跟和去对])|了(?!解)|过(?![期敏量程滤高低多年])|来着|还[有剩欠差]|剩(?!菜)|买|送|订|拍|带|喂|约|穿|选哪|放[在哪]|在哪(?![个国里省洲])|在谁|在不在|(?<!学名)叫(?:什么|啥)|(?<!作者是)(?<!导演是)(?<!主角是)(?<!冠军是)谁(?![创发首建写画作提唱演])|[这那]|几点|几岁|多大\W*$|够|店|家|餐厅|门口|楼|室|群|老师|班(?!牙)|作业|票|药(?!.{0,3}$)|疫苗|猫粮|狗粮|[猫狗]砂|多少钱一?\W*$|保修|维修|滤芯|什么时候[一-鿿]{1,4}的|又|线上|还能|哪家|去|飞|回国|签证(?!怎)|机票|出差|办公|行程|客户|那边|分公司"
)
_ZH_CONDITION = re.compile(r"(?<=[冒烧嗽孕血伤车暑筋枕震])来?了(?=[能可怎要吃会该不])")
_CJK = re.compile(r"[一-鿿]")
#: How something is done with a program, though its ports and settings are spoken of.
_HOW_OF_TECHNOLOGY = re.compile(
    rf"^\W*(?:(?:怎么|如何|怎样|咋)(?:在|用|给)?\s?(?:{TECHNOLOGY})|(?:在|用)?\s?(?:{TECHNOLOGY})(?:里面?|中|下|上)?\s?(?:怎么|如何|怎样|咋|为什么|为啥)|how (?:do|can|to|would|should) (?:you |i )?(?:\w+ )(?:an? |all |every )(?:\w+ ){{1,3}}(?:in|on|with|using) (?:{TECHNOLOGY})\b)",
    re.IGNORECASE,
)


def is_general(text: str) -> bool:
    """Whether a question, in simplified script and without its helpers, is about things of a kind."""
    if PERSONAL.search(text):
        return False
    if _HOW_OF_TECHNOLOGY.search(text):
        return _ZH_CERTAIN.search(text) is None and "the " not in text.casefold()
    if _CJK.search(text):
        return _is_general_in_chinese(text)
    if len(text) > MOST_CHARS or ANY_LOCAL.search(text):
        return False
    if _ONE_FOR_ALL.search(text) or (_ATTRIBUTE.search(text) and not _LIVED.search(text)):
        return _SOMEBODY.search(text) is None
    if NAME.search(text) or POSSESSIVE.search(text):
        return _TECHNICAL.search(text) is not None and _SOMEBODY.search(text) is None
    if _CERTAIN.search(_EASY_IT.sub("", text)):
        return False
    return _OF_A_KIND.search(text) is not None or _TECHNICAL.search(text) is not None


def _is_general_in_chinese(text: str) -> bool:
    if len(text) > MOST_CHINESE or CHINESE_LOCAL.search(text):
        return False
    asked = _ZH_CONDITION.sub("", text)
    return _ZH_OF_A_KIND.search(asked) is not None and _ZH_CERTAIN.search(asked) is None
