"""Eleven weeks of a diary in two languages, in which the same things are done on many days, and questions about days."""

from collections.abc import Iterator
from datetime import date, datetime, timedelta
from zoneinfo import ZoneInfo

ZONE = ZoneInfo("Asia/Shanghai")
ASKED = datetime(2026, 11, 19, 21, tzinfo=ZONE)  # a Thursday evening

DONE = """
    I cooked risotto with mushrooms and ate far too much | 早上跟老王吃了豆浆油条 | talked to Maria about the budget of the bakery
    在公司开了一整天的会，累死了 | went for a long run along the river | 晚上和小李去看了一场电影 | called my mother, she is fine
    修好了阳台的水龙头 | met Peter for lunch, he is moving to Oslo | 给女儿买了一双红色的运动鞋 | deployed version {n} of the app to production
    下午去健身房练了背 | bought a secondhand bicycle for the commute | 跟房东谈了续租的事 | the dentist filled a tooth, it hurt
    做了红烧肉，大家都说好吃 | watched the game at Tom's place | 讨论了新项目的方案，定了预算 | finished reading a novel by Eco
    去医院给爸爸拿体检报告 | planted tomatoes in the garden | 晚饭吃了火锅，喝了点酒 | argued with the vendor about the invoice
    和客户打了两个小时电话 | drove to the lake and swam | 学了一会儿日语，背了三十个单词 | the server crashed twice and I restarted it
    晚上在家打游戏打到一点 | visited the museum with Anna | 去超市买了菜和牛奶 | wrote the quarterly report until late
    面试了两个后端工程师 | played tennis with Lena and lost | 带狗去打了疫苗 | baked bread and gave half of it to the neighbours
    跟小美聊了聊换工作的事 | had ramen with Bob near the station | 爬了香山，腿很酸 | cleaned the kitchen and the fridge
    参加了同学聚会，见到了老张 | The meeting with Delta is on Friday at ten | 周五下午要交季度报告 | remember to call the bank on Monday
    下周二约了牙医 | the concert is on May 4 next year | 国庆的机票要早点订
"""
THINGS = [thing.strip() for line in DONE.strip().splitlines() for thing in line.split("|") if thing.strip()]
HOURS = (9, 14, 20)
DAYS = 78

#: A question, and the first and the last of the days that are meant.
QUESTIONS = """
    yesterday evening | what did I do yesterday evening? | 11-18
    yesterday | What did I eat yesterday | 11-18
    the day before | what was I up to the day before yesterday? | 11-17
    last Friday | where did I go last Friday? | 11-13
    last Friday | who did I meet last friday night | 11-13
    on Monday | What did I say on Monday? | 11-16
    Tuesday | what happened this Tuesday? | 11-17
    Tuesday | did I talk to anybody on Tuesday afternoon? | 11-17
    last Saturday | how did I spend last Saturday? | 11-14
    three days ago | what did I cook three days ago? | 11-16
    five days ago | what was going on 5 days ago | 11-14
    ten days ago | do you remember what I did ten days ago? | 11-08 11-10
    a week ago | What did we talk about a week ago? | 11-12
    two weeks ago | where was I two weeks ago? | 11-04 11-06
    last week | what did I buy last week? | 11-09 11-15
    last month | what did I do at the end of last month? | 10-21 10-31
    last month | did we deploy anything last month? | 10-01 10-31
    this morning | what did I tell you this morning? | 11-19
    just now | what did I just now say? | 11-19
    a moment | what did I tell you a moment ago? | 11-19
    today | what did I do today? | 11-19
    on Nov 4 | what did I do on November 4? | 11-04
    on Oct 3 | What happened on Oct 3rd? | 10-03
    30 October | who did I talk to on 30 October? | 10-30
    the 12th | what did I do on the 12th? | 11-12
    weekend | what did I do last weekend? | 11-14 11-15
    Halloween | what did we do on Halloween? | 10-31
    before last | what did I work on the week before last? | 11-02 11-08
    two Fridays | what did I do two Fridays ago? | 11-06
    Sunday | who called on Sunday? | 11-15
    2026-10-20 | what did I note on 2026-10-20? | 10-20
    昨天 | 昨天我干了什么 | 11-18
    昨晚 | 昨晚我吃了啥 | 11-18
    前天 | 前天我去哪儿了？ | 11-17
    前天晚上 | 前天晚上我和谁在一起 | 11-17
    大前天 | 大前天我做什么了 | 11-16
    上周五 | 上周五晚上我干了什么？ | 11-13
    上周三 | 我上周三见了谁 | 11-11
    这周二 | 这周二我说了什么？ | 11-17
    周一 | 周一上午我在忙什么？ | 11-16
    上上周 | 上上周我都做了些什么 | 11-02 11-08
    三天前 | 三天前我吃了什么？ | 11-16
    四天前 | 四天前发生了什么 | 11-15
    一周前 | 一周前我买了什么 | 11-12
    两周前 | 两周前我们聊了什么？ | 11-04 11-06
    半个月前 | 半个月前我在干嘛 | 11-02 11-06
    刚才 | 刚才我说了什么？ | 11-19
    刚刚 | 我剛剛說了什麼 | 11-19
    今早 | 今早我跟你说过什么 | 11-19
    今天下午 | 今天下午我做了什么 | 11-19
    11月4号 | 11月4号我做了什么 | 11-04
    十月三日 | 十月三日我去了哪里？ | 10-03
    国庆 | 国庆的时候我们干了什么 | 10-01 10-07
    上个月初 | 上个月初我在忙些什么 | 10-01 10-10
    上个月 | 上个月我看过什么电影？ | 10-01 10-31
    上周末 | 上周末去哪玩了？ | 11-14 11-15
    上禮拜天 | 上禮拜天我做了什麼？ | 11-15
    12号 | 12号那天我跟谁打过电话 | 11-12
    一个星期前 | 一个星期前开了什么会？ | 11-12
    上周二 | 上周二下午我跟谁吃的饭 | 11-10
"""


def diary_lines() -> Iterator[tuple[str, datetime]]:
    """What was said and when, the oldest first: three things a day, every fortnight the same ones in another order."""
    for back in range(DAYS, -1, -1):
        day = ASKED.date() - timedelta(days=back)
        for n, hour in enumerate(HOURS):
            thing = THINGS[(back * 7 + n * 17 + (back // 14) * 3) % len(THINGS)].format(n=back)
            yield f"{thing} ({back}.{n})", datetime(day.year, day.month, day.day, hour, 10 * n, tzinfo=ZONE)


def questions() -> list[tuple[str, date, date]]:
    rows = [line.split("|") for line in QUESTIONS.strip().splitlines()]
    dated_questions = []
    for _about, question, days in rows:
        first, last = (date.fromisoformat(f"2026-{day}") for day in (days.split() * 2)[:2])
        dated_questions.append((question.strip(), first, last))
    return dated_questions
