"""Pairs of texts that are nearly the same: which are two memories, and which are one (A10)."""

import pytest

from memories.language.likeness import Likeness, compare

#: A line is a pair. Each differs in one thing somebody could ask about.
TWO_MEMORIES = """
The parcel for the kitchen weighs 5 kg on the scale = The parcel for the kitchen weighs 5 g on the scale
The tank behind the house holds 200 litres of water = The tank behind the house holds 200 gallons of water
The shelf in the hall is 80 cm wide = The shelf in the hall is 80 mm wide
The backup of the shop takes 30 seconds to finish = The backup of the shop takes 30 minutes to finish
The lorry drove at 60 mph along the coast = The lorry drove at 60 km/h along the coast
Keep the fridge of the lab at 4°C over the weekend = Keep the fridge of the lab at 4°F over the weekend
The disk of the build server has 2 TB of space = The disk of the build server has 2 GB of space
The meeting with the board starts at 3 pm in the hall = The meeting with the board starts at 3 am in the hall
The train to the coast leaves at 7:15 from here = The train to the coast leaves at 7:50 from here
The train to the coast leaves at 7:15 from here = The train to the coast leaves at 7.15 from here
The invoice was paid on 2024-03-04 by the office = The invoice was paid on 2024-04-03 by the office
My passport runs out in June of next year = My passport runs out in July of next year
The dentist sees me every Tuesday after work = The dentist sees me every Thursday after work
We moved into the flat by the park last year = We moved into the flat by the park this year
We run version 1.2.3 of the app on the phones = We run version 1.3.2 of the app on the phones
The service needs Python 3.11 to be installed = The service needs Python 3.12 to be installed
The shop runs on v2 of the payment API = The shop runs on v1 of the payment API
The room in the old hotel costs $80 a night = The room in the old hotel costs €80 a night
The room in the old hotel costs 80 dollars a night = The room in the old hotel costs 80 euros a night
The new bike for my son cost £1,200 in the shop = The new bike for my son cost £12,00 in the shop
The flat by the river is let for 1.5k a month = The flat by the river is let for 15k a month
The discount for members is 15% on every order = The discount for members is 50% on every order
The discount for members is 15% on every order = The discount for members is 15 on every order
The balance of the account is -20 at the moment = The balance of the account is 20 at the moment
The balance of the account is −20 at the moment = The balance of the account is 20 at the moment
The alert fires when the load is > 5 for a minute = The alert fires when the load is < 5 for a minute
The rule matches when a == b in the form = The rule matches when a != b in the form
The door opens if badge && pin are right = The door opens if badge || pin are right
There were about 3~5 people at the door = There were about 3, 5 people at the door
My blood group is A+ as the doctor says = My blood group is A- as the doctor says
The door code of the office is aB3x for now = The door code of the office is Ab3X for now
The wifi password at home is rose#12 for guests = The wifi password at home is rose!12 for guests
My phone number is 13800138000 since last week = My phone number is 13800138001 since last week
The ticket for the outage is OPS-4711 in the tracker = The ticket for the outage is OPS-4712 in the tracker
The account of the tenant has the id a1b2c3 there = The account of the tenant has the id a1b2c4 there
The health check is at https://example.org/live on port 80 = The health check is at https://example.org/ready on port 80
The docs are at example.org/v1/users for everyone = The docs are at example.org/v1/orders for everyone
The settings are in config.yaml beside the code = The settings are in config.toml beside the code
The key lies in /etc/app/key.pem on the server = The key lies in /etc/app/cert.pem on the server
Deploy the new build of the shop to staging tonight = Deploy the new build of the shop to production tonight
The database of the shop runs in the prod cluster = The database of the shop runs in the test cluster
Please enable the alerts of the shop for the team = Please disable the alerts of the shop for the team
The feature flag for the new cart is on for everyone = The feature flag for the new cart is off for everyone
I can swim across the lake behind our house = I can't swim across the lake behind our house
I can swim across the lake behind our house = I could swim across the lake behind our house
You must take the pills before every meal = You may take the pills before every meal
You should book the table in advance there = You need not book the table in advance there
I have been to the museum by the river = I have never been to the museum by the river
I am allowed to park in the yard of the house = I am not allowed to park in the yard of the house
I drink coffee with sugar in the morning = I drink coffee without sugar in the morning
I still work at the bakery in the old town = I no longer work at the bakery in the old town
Nobody in the family eats meat on Fridays = Everybody in the family eats meat on Fridays
All of the windows in the hall are closed = Some of the windows in the hall are closed
The blue line is faster than the red line to work = The blue line is slower than the red line to work
The blue line is faster than the red line to work = The red line is faster than the blue line to work
The left door of the garage sticks in winter = The right door of the garage sticks in winter
The bakery is north of the station on the hill = The bakery is south of the station on the hill
Walk upstairs to the office at the end of the hall = Walk downstairs to the office at the end of the hall
He works at the hospital near the big park = She works at the hospital near the big park
I lent his car to the neighbour for the move = I lent her car to the neighbour for the move
My sister plays the violin in the city orchestra = My brother plays the violin in the city orchestra
My key lies under the mat by the door = Your key lies under the mat by the door
Melanie bought the tickets for the concert online = Caroline bought the tickets for the concert online
Alice gave the red book to Bob at school = Bob gave the red book to Alice at school
Tom is the son of the woman called Jane = Jane is the son of the woman called Tom
The dog chased the cat around the big garden = The cat chased the dog around the big garden
My boss reports to the owner of the company = The owner of the company reports to my boss
The flight goes from Rome to Oslo without a stop = The flight goes from Oslo to Rome without a stop
I worked at the bank in the city for years = I work at the bank in the city for years
I will visit the castle with the children = I visited the castle with the children
She is going to marry the man from the bakery = She was going to marry the man from the bakery
I want to buy the house at the end of the road = I bought the house at the end of the road
The test server is down since the power cut = The test server is down since the power cut?
You are coming to the party on the boat = You are coming to the party on the boat?
She said "yes" to the offer of the bank = She said "no" to the offer of the bank
The sign says "push" on the door of the shop = The sign says "pull" on the door of the shop
My favourite colour for the kitchen is green = My favourite colour for the kitchen is blue
My favourite food is noodles with beef and garlic = My favourite food is noodles with pork and garlic
I am allergic to peanuts and the doctor knows it = I am allergic to shrimps and the doctor knows it
The neighbour's cat is sick and needs the vet = My cat is sick and needs the vet
He is the manager of the shop by the station = He is the assistant manager of the shop by the station
I like to eat apples with cheese in the evening = I like to eat apples in the evening
We will meet in building A tomorrow at noon = We will meet in the building tomorrow at noon
We will meet in building A tomorrow at noon = We will meet in building B tomorrow at noon
I like not just tea with the cake of my aunt = I like not tea with the cake of my aunt
She smiled to please her mother at the party = She smiled to her mother at the party
The first exam of the course was hard for me = The last exam of the course was hard for me
Once I forgot the keys of the car at the lake = Twice I forgot the keys of the car at the lake
The lease of the flat ends before the summer = The lease of the flat ends after the summer
The bus stops in front of the school gate = The bus stops behind the school gate
Turn the heating of the house up in the evening = Turn the heating of the house down in the evening
I think the meeting with the bank is at noon = The meeting with the bank is at noon
The twins go to the same school as my nephew = The twins go to another school than my nephew
The cheese in the fridge is probably still good = The cheese in the fridge is still good
Anna and Bob's mother came to the wedding = Bob and Anna's mother came to the wedding
The task for the garden is done ✓ = The task for the garden is done ✗
The soup of the day costs 3,5 here = The soup of the day costs 35 here
The vote on the new park ended 12:7 at the hall = The vote on the new park ended 12-7 at the hall
The branch is called feature/login in the repository = The branch is called feature-login in the repository
The host is db.example.org for the shop = The host is db-example.org for the shop
Hello Kitty is my favourite = Kitty is my favourite
Thanks to Anna we won the match = To Anna we won the match
请王芳吃饭，在河边的饭馆 = 王芳吃饭，在河边的饭馆
好的酒店在河边，价格也不贵 = 酒店在河边，价格也不贵
麻烦很大，因为车坏了 = 很大，因为车坏了
厨房里的那个包裹在秤上重5公斤 = 厨房里的那个包裹在秤上重5斤
客厅的书架宽80厘米，是橡木做的 = 客厅的书架宽80毫米，是橡木做的
备份商店的数据大约需要30秒钟 = 备份商店的数据大约需要30分钟
我每天早上七点起床去公园跑步 = 我每天早上八点起床去公园跑步
和董事会的会议下午三点在大厅开始 = 和董事会的会议上午三点在大厅开始
会议安排在周三的下午，在二楼会议室 = 会议安排在周四的下午，在二楼会议室
我的护照明年六月就要到期了 = 我的护照明年七月就要到期了
我们去年搬进了公园旁边的公寓 = 我们今年搬进了公园旁边的公寓
我家里养了两只猫和一条狗 = 我家里养了三只猫和一条狗
我在商场买了一双黑色的运动鞋 = 我在商场买了两双黑色的运动鞋
我们俩约好在电影院的门口见面 = 我们仨约好在电影院的门口见面
这套房子的租金每个月三千块钱 = 这套房子的租金每个月三万块钱
会员下单可以享受八折的优惠 = 会员下单可以享受九折的优惠
这次考试有百分之八十的同学及格 = 这次考试有百分之二十的同学及格
酒店的房间一个晚上要80美元 = 酒店的房间一个晚上要80欧元
我的手机号码是13900139000，微信同号 = 我的手机号码是13900139001，微信同号
工单的编号是A1024，麻烦尽快处理 = 工单的编号是A1042，麻烦尽快处理
我们线上的服务用的是3.11版本 = 我们线上的服务用的是3.12版本
接口地址是/api/v1/users，需要登录 = 接口地址是/api/v1/orders，需要登录
配置文件放在项目的config.yaml里 = 配置文件放在项目的config.toml里
今晚把新版本部署到测试环境 = 今晚把新版本部署到生产环境
请启用商店的告警并且通知大家 = 请停用商店的告警并且通知大家
请打开客厅的空调和卧室的灯 = 请关闭客厅的空调和卧室的灯
我去过河边的那个博物馆 = 我没去过河边的那个博物馆
我去过河边的那个博物馆 = 我未去过河边的那个博物馆
记得把垃圾放在楼道的门口 = 别把垃圾放在楼道的门口
我还在老城区的面包店上班 = 我不再在老城区的面包店上班
我对花生和海鲜都过敏 = 我对花生和海鲜都不过敏
我会游泳，也会开车和骑马 = 我不会游泳，也会开车和骑马
你可以把车停在院子里面 = 你必须把车停在院子里面
你应该提前订好餐厅的座位 = 你不必提前订好餐厅的座位
地铁比公交车快得多也便宜 = 地铁比公交车慢得多也便宜
地铁比公交车快，我一直坐它 = 公交车比地铁快，我一直坐它
车库左边的门冬天会卡住打不开 = 车库右边的门冬天会卡住打不开
面包店在车站的北面，走路就到 = 面包店在车站的南面，走路就到
他在公园附近的医院上班 = 她在公园附近的医院上班
我妹妹在市里的乐团拉小提琴 = 我姐姐在市里的乐团拉小提琴
我的钥匙放在门口的垫子下面 = 你的钥匙放在门口的垫子下面
王小明昨天在网上买了音乐会的票 = 李小明昨天在网上买了音乐会的票
王芳把书借给了李娜，下周还 = 李娜把书借给了王芳，下周还
小王喜欢小李，大家都知道这件事 = 小李喜欢小王，大家都知道这件事
那只狗追着猫跑遍了整个院子 = 那只猫追着狗跑遍了整个院子
飞机从罗马飞到奥斯陆，中间不停 = 飞机从奥斯陆飞到罗马，中间不停
我买了路口的那套房子 = 我买路口的那套房子
我要去参观山上的那座城堡 = 我去参观过山上的那座城堡
我正在写毕业论文的最后一章 = 我写完了毕业论文的最后一章
停电以后测试服务器挂了 = 停电以后测试服务器挂了？
他说“好”，答应了银行的条件 = 他说“不”，答应了银行的条件
我最喜欢的颜色是绿色，像草地 = 我最喜欢的颜色是蓝色，像草地
我的狗叫哈哈，今年刚满月 = 我的狗叫嘿嘿，今年刚满月
小王和小李的妈妈来参加了婚礼 = 小李和小王的妈妈来参加了婚礼
我想谢谢他，因为他帮了我 = 我想他，因为他帮了我
考试的第一题我没有做出来 = 考试的最后一题我没有做出来
租约在夏天之前就到期 = 租约在夏天之后就到期
我觉得和银行的会议在中午 = 和银行的会议在中午
邻居的猫病了，要去看兽医 = 我的猫病了，要去看兽医
他是车站旁边那家店的经理 = 他是车站旁边那家店的副经理
我早饭吃面包，喝一杯牛奶 = 我早饭吃面包
飲料要去冰半糖，外送到辦公室 = 飲料要正常冰半糖，外送到辦公室
妹妹在臺北的醫院工作 = 妹妹在臺中的醫院工作
冰箱的溫度要保持在4度 = 冰箱的溫度要保持在-4度
大概有3~5个人在门口等着 = 大概有3、5个人在门口等着
所有的窗户都关好了，可以走了 = 有的窗户都关好了，可以走了
"""
#: A line is a pair that says the same.
ONE_MEMORY = r"""
I like green tea in the morning = i like GREEN tea in the morning!
I like green tea in the morning = I like green tea, in the morning.
I like green tea in the morning = Ｉ ｌｉｋｅ ｇｒｅｅｎ ｔｅａ ｉｎ ｔｈｅ ｍｏｒｎｉｎｇ
I like green tea in the morning = I   like green tea in the morning
I like green tea in the morning = I really like green tea in the morning
The port of the database is 5432 = The port of the database is: 5432
The port of the database is 5432 = So the port of the database is 5432
The port of the database is 5432 = The port of our database is 5432
The port of the database is 5432 = OK, the port of the database is 5432, thanks
Water the plants on Friday = Please water the plants on Friday
Water the plants on Friday = Water the plants on Friday, please
Water the plants on Friday = Water the plants on Friday, please!!!
Water the plants on Friday = Water plants on Friday
Water the plants on Friday = Hey, please just water the plants on Friday. Thank you!
Water the plants on Friday = Remember that: water the plants on Friday
My cat is called Rice = by the way, my cat is called Rice
My cat is called Rice = My cat is called "Rice"
My cat is called Rice = my cat is called rice
My cat is called Rice = My cat is called Rice, you know
I don't eat meat at home = I do not eat meat at home
I don't eat meat at home = I dont eat meat at home
I don't eat meat at home = I don’t eat meat at home
I can't come on Monday = I cannot come on Monday
I can't come on Monday = I can not come on Monday
I'm at the office until six = I am at the office until six
I'd like to learn the piano this year = I would like to learn the piano this year
we'll meet at the old harbour on foot = we will meet at the old harbour on foot
请你把回答写得简短一点 = 请把回答写得简短一点
It's raining in the garden = It is raining in the garden
They're moving to Leeds in May = They are moving to Leeds in May
We'll meet at the old bridge = We will meet at the old bridge
I've sold the red car = I have sold the red car
I won't sell the house = I will not sell the house
The soup is very hot = The soup is hot
She sings with a microphone = She sings using a microphone
Where do I keep the keys? = Where do I keep the keys
Is the shop open on Sunday? = is the shop open on sunday
We need bread, milk and eggs = We need bread, eggs and milk
The exam lasts 3–5 hours = The exam lasts 3-5 hours
The file is called notes.txt = The file is called “notes.txt”
User: hi, I moved to Leeds\nAssistant: noted = User: Hi! I moved to Leeds.\nAssistant: Noted.
我喜欢喝绿茶 = 我喜欢喝绿茶。
我喜欢喝绿茶 = 我 喜欢 喝 绿茶！！
我喜欢喝绿茶 = 我很喜欢喝绿茶
我喜欢喝绿茶 = 我其实非常喜欢喝绿茶
我喜欢喝绿茶 = 嗯嗯，我喜欢喝绿茶
我喜欢喝绿茶 = 我喜欢喝绿茶呀，哈哈
数据库的端口是５４３２ = 数据库的端口是5432
数据库的端口是5432 = 数据库端口是5432
数据库的端口是5432 = 好的，数据库的端口是5432，谢谢！
周五给阳台的花浇水 = 请周五给阳台的花浇水
周五给阳台的花浇水 = 麻烦周五给阳台的花浇水，谢谢
周五给阳台的花浇水 = 你好，麻烦你周五给阳台的花浇水
周五给阳台的花浇水 = 周五给阳台里的花浇水
我的猫叫年糕 = 我的猫叫「年糕」
我的猫叫年糕 = 我的猫叫“年糕”。
我的猫叫年糕 = 对了，我的猫叫年糕
我的猫叫年糕 = 我的猫叫年糕哦
我妈妈住在杭州 = 我的妈妈住在杭州
钥匙放在抽屉里 = 钥匙放在抽屉里面
您的会议在下午三点 = 你的会议在下午三点
我的钥匙放在哪里？ = 我的钥匙放在哪里
你吃过早饭了吗？ = 你吃过早饭了吗
我要买牛奶和面包 = 我要买面包和牛奶
我用Python写脚本 = 我用 python 写脚本
我用Python写脚本 = 我用 Python 来写脚本
會議改到星期三，在辦公室 = 會議改到星期三，在辦公室里
這家店的咖啡很好喝 = 這家店的咖啡好喝
"""


def pairs(table: str) -> list[tuple[str, ...]]:
    lines = [line.replace("\\n", "\n") for line in table.strip().split("\n")]
    return [tuple(line.split(" = ")) for line in lines]


@pytest.mark.parametrize(("old", "new"), pairs(TWO_MEMORIES))
def test_what_somebody_could_ask_about_is_never_lost(old: str, new: str) -> None:
    """However near the texts are: the threshold here is far below any that is used."""
    assert compare(old, new, threshold=0.2)[0] is Likeness.APART
    assert compare(new, old, threshold=0.2)[0] is Likeness.APART


@pytest.mark.parametrize(("old", "new"), pairs(ONE_MEMORY))
def test_what_says_the_same_is_one_memory(old: str, new: str) -> None:
    assert compare(old, new, threshold=0.8)[0] in (Likeness.SAME, Likeness.ALIKE)
    assert compare(new, old, threshold=0.8)[0] in (Likeness.SAME, Likeness.ALIKE)


def test_the_tables_are_as_long_as_they_claim() -> None:
    assert len(set(pairs(TWO_MEMORIES))) >= 150 and len(set(pairs(ONE_MEMORY))) >= 60
