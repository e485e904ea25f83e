"""The words by which a message is known to need no memory: tables and patterns, Chinese ones in simplified script (D3).

Every pattern is bounded: none looks at the same character more than a few times.
"""

import re

_TRADITIONAL = "謝對沒見這樣麼學懂辦還認確繼續題麻煩馬厲點說寫編譯潤總結摘縮擴續檢查語單詞圖畫們個嗎為誰幾請問訴記憶時過剛號週機風發現電話項務會議開該兒媽爸師東"
_SIMPLIFIED = "谢对没见这样么学懂办还认确继续题麻烦马厉点说写编译润总结摘缩扩续检查语单词图画们个吗为谁几请问诉记忆时过刚号周机风发现电话项务会议开该儿妈爸师东"
_TRADITIONAL += "國際歲區別離長與數計算萬億兩條頁將對換錯給讓幫體報員後從樂聽讀講貓魚鳥樹葉藍紅綠黃歷戰爭運動導設環備"
_SIMPLIFIED += "国际岁区别离长与数计算万亿两条页将对换错给让帮体报员后从乐听读讲猫鱼鸟树叶蓝红绿黄历战争运动导设环备"
_TRADITIONAL += "庫資碼線實歡愛習慣預約價錢飛適應嘍囉啞這內簡繁陽係隊組軟聯釋義圓廣東漢書韓蘇羅傑張劉陳楊趙吳鄭馮許鄧葉錢孫達當來麗筆級畢業"
_SIMPLIFIED += "库资码线实欢爱习惯预约价钱飞适应喽啰哑这内简繁阳系队组软联释义圆广东汉书韩苏罗杰张刘陈杨赵吴郑冯许邓叶钱孙达当来丽笔级毕业"
_TRADITIONAL += "臺灣營養種鐘樓場禮訂買賣車門聞間關閉難腦雞鴨鵝豬麵飯館廳藥醫療傷彈雙經濟財產險殘殺滅燈熱凍處賽贏輸進遠選遲遺邊鄉醬釀鈣鐵銀錄鎖鏡陰陸隨隱雜雲霧靜頭顏願顧顯飲餓驗驚鬆鮮鹹麥齡視貧壓腸藝術標準極戲劇寶貝貴賤針寬乾淨濕燒試績紙細終統絲維緊緒聲職腳腫臉興舊蘋蝦補裡製複誤論證識豐負責費貸賺較輕轉農遊鄰鋼閒雖靈頻額騎髮鬍鬥鹽虛蟲蠶螞蟻獅烏龜鯨鯊鳳華嬰嬤佈訊則劃勞勝協參"
_SIMPLIFIED += "台湾营养种钟楼场礼订买卖车门闻间关闭难脑鸡鸭鹅猪面饭馆厅药医疗伤弹双经济财产险残杀灭灯热冻处赛赢输进远选迟遗边乡酱酿钙铁银录锁镜阴陆随隐杂云雾静头颜愿顾显饮饿验惊松鲜咸麦龄视贫压肠艺术标准极戏剧宝贝贵贱针宽干净湿烧试绩纸细终统丝维紧绪声职脚肿脸兴旧苹虾补里制复误论证识丰负责费贷赚较轻转农游邻钢闲虽灵频额骑发胡斗盐虚虫蚕蚂蚁狮乌龟鲸鲨凤华婴嬷布讯则划劳胜协参"
#: Traditional characters that stand in these tables, as simplified ones.
SIMPLIFIED = str.maketrans(_TRADITIONAL, _SIMPLIFIED)


def _phrases(listed: str) -> str:
    """Alternatives of a comma-separated list, the longest first."""
    found = {phrase.strip() for phrase in re.split(r"[,\n]", listed) if phrase.strip()}
    return "|".join(phrase.replace(" ", r"\s+") for phrase in sorted(found, key=len, reverse=True))


# -- a whole message of these is an acknowledgement or a greeting

_THANKS = """
    ok,okay,okey,okie,k,kk,yes,yep,yeah,yea,yup,ya,no,nope,nah,not now,not really,sure,sure thing,fine,good,great,nice,cool,neat,thanks
    thanks a lot,thanks a bunch,thanks again,thanks so much,thanks for the help,thanks for your help,thx,thx a lot,thx a bunch,ty,tysm,tks
    cheers,done,right,that's right,thats right,agreed,confirmed,confirm,continue,go,next,proceed,understood,roger,lgtm,alright,all right
    perfect,awesome,amazing,brilliant,excellent,wonderful,fantastic,please,hi,hi there,hello,hello there,hey,hey there,bye,goodbye,bye bye
    cya,i see,thank you,thank you so much,thank you very much,thank u,thank you again,many thanks,much appreciated,appreciate it
    i appreciate it,go on,go ahead,got it,gotcha,sounds good,sounds great,sounds fine,sounds perfect,sounds good to me,looks good
    looks great,looks good to me,no problem,no prob,np,no worries,no need,no thanks,no thank you,all good,all set,exactly,correct,wow,whoa
    oh,ah,aha,hmm,yay,omg,ooh,haha,hehe,lol,lmao,rofl,indeed,true,fair enough,fair,of course,absolutely,definitely,certainly,totally
    never mind,nevermind,nvm,forget it,forget about it,that's fine,thats fine,that is fine,it's fine,its fine,that's ok,that's okay,thats ok
    it's ok,it's okay,its ok,that's all,thats all,that's everything,that is everything,nothing more,that is all,that's it,thats it,for now,for today,that will do,that'll do,that works
    that works for me,works for me,works,that's great,that's good,that's perfect,that's enough,thats enough,that helps,that's helpful
    very helpful,makes sense,that makes sense,good to know,good idea,good point,good job,great job,nice job,good work,great work,nice work
    nice one,good one,well done,let's go with that,lets go with that,let's do it,lets do it,let's do that,lets do that,go for it
    i'm good,im good,we're good,i'm fine,im fine,i'm done,im done,i understand,i agree,see you,see ya,see you later,see you soon
    see you tomorrow,see you then,talk to you later,talk later,ttyl,brb,gtg,later,good morning,morning,good night,good evening
    good afternoon,gn,sleep well,sweet dreams,have a good day,have a nice day,have a great day,have a good one,have a good night
    have a nice weekend,have a good weekend,nice to meet you,you're welcome,youre welcome,you too,same to you,you rock,you're the best
    love it,like it,now,then,again,man,bro,dude,mate,buddy,so,well,just,and,really,very,too,a lot,so much,noted,copy that,on it,will do
    dear,my dear,friend,my friend,sir,madam,boss,bot,darling,everyone,everybody,all,team,folks,guys,pal,as you wish,whatever,either is fine,fine by me,fine with me,up to you,not needed,not necessary,stop,wait,one sec,one moment,a sec
"""
_ZH_THANKS = """
    继续,好的,好,好滴,好嘞,好哒,好好,好了,好吧,好的好的,确认,是的,是,是这样,对,对的,对对,没错,不,不是,不用,不要,不必,不需要,用不着,行,行行
    行的,可以,可以的,能行,成,中,妥,妥了,嗯,嗯嗯,恩,恩恩,嗯好,嗯呢,哦,噢,喔,哎,唉,诶,啊,呃,收到,明白,懂,懂了,知道,我知道,我明白,我懂,晓得
    了解,清楚,清楚了,理解,我理解,谢,谢谢,谢谢你,谢谢您,谢谢大家,多谢,感谢,感恩,非常感谢,十分感谢,太感谢,太谢谢,谢谢帮忙,谢谢你的帮助,没问题
    没毛病,同意,赞同,赞成,完成,搞定,可,嗨,哈喽,哈啰,你好,您好,大家好,再见,再会,拜,拜拜,回见,回头见,回聊,明天见,下次见,晚点见,待会见,改天聊
    下次聊,下次再聊,先聊到这,没事,没事儿,没关系,不客气,不谢,别客气,客气,辛苦,你辛苦,您辛苦,太辛苦,麻烦,麻烦你,麻烦您,太麻烦你,好棒,真棒,太棒
    棒,你真棒,真好,太好,很好,挺好,非常好,不错,挺不错,很不错,完美,厉害,太厉害,真厉害,牛,牛逼,牛啊,赞,点赞,优秀,强,哈,呵,嘿,嘻,嘿嘿,笑死,笑死我
    原来如此,原来是这样,这样,那这样,学到,长见识,受教,有道理,说得对,说的对,你说得对,那,就,先,就这样,先这样,就先这样,这样就好,这样就行,这样可以
    就按这个来,按这个来,照这个来,就这么办,就这么定,那就这样,那先这样,就这个,就用这个,算,算了,不管了,不用管,不用管它,没有,没,没别的,没其他的,没其他事
    没什么,没什么事,没啥,没啥事,随便,都行,都可以,早,早安,早上好,上午好,中午好,午安,下午好,晚上好,晚安,好梦,睡了,先睡,在,在吗,在不在,在么,有人吗
    马上,马上看,马上来,这就来,稍等,等一下,等会,等等,等我一下,请,请继续,继续吧,加油,恭喜,太好,太棒,周末愉快,节日快乐,新年快乐,祝好,真的,必须的,当然
    当然可以,当然好,那好,那行,那可以,那就好,也行,也好,也可以,嗯哼,哇,哇塞,天啊,天哪,妈呀,我去,okk,ok的,okay的,okk的,ok了
"""
_PARTICLE = "[啊呀吧啦哦喔噢哈呢嘞滴哒的了呐嘛哟咯喽哇～~]"
_GOODBYE = (
    r"(?:see (?:you|ya|u)|cya|bye|talk to (?:you|u)|catch (?:you|ya)|speak)(?:\s+(?:tomorrow|later|soon|then|around|there|again|tonight|next week|next time"
    r"|(?:on )?(?:mon|tues|wednes|thurs|fri|satur|sun)day))?"
)
_PRAISE = (
    r"(?:thanks|thx|thank (?:you|u))(?: so much| a lot)? for (?:the|your|all|that|this|everything)(?: the| your| of)?(?: \w+){0,2}"
    r"|that(?:'s| is|s) all (?:i|we) (?:need(?:ed)?|wanted)|all (?:i|we) need(?:ed)?|nothing else|sounds like a plan|deal|sorry|my bad|no rush|say no more|"
    r"(?:(?:you|u)(?:'re| are|re)|(?:it|that|this)(?: one)?(?:'s| is|s)|(?:it|that|this)(?: one)? (?:looks|sounds|seems))\s+(?:so |really |very |totally |just |all )?"
    r"(?:awesome|great|amazing|the best|funny|hilarious|helpful|smart|right|correct|fine|ok|okay|good|perfect|cool|nice|wonderful|brilliant|a lifesaver|lovely|fair|true|enough|better)"
)
_ASCII_UNIT = rf"(?:(?:{_GOODBYE}|{_PRAISE}|{_phrases(_THANKS)}|(?:ha){{2,15}}h?|(?:he){{2,15}}|a+ha+|lo+l|o+k+|ye+s+|no+|hm+|wo+w|so+|th+x)(?![a-z0-9]))"
_ZH_UNIT = rf"(?:(?:谢谢|感谢|多谢)(?:你|您|大家|你们)的\w{{1,6}}|(?:{_phrases(_ZH_THANKS)}){_PARTICLE}{{0,4}})"
#: Units in a row, between whatever is no word and no question; longest first and never taken back, so it stays linear.
ACKNOWLEDGEMENT = re.compile(
    rf"[^\w?？]*+(?>(?:{_ASCII_UNIT}|{_ZH_UNIT})[^\w?？]*+)++".replace("'", "['’]?"), re.IGNORECASE
)
#: What people say to a bot to say something.
SMALL_TALK = re.compile(
    r"(?:(?:hi|hello|hey|so|and)[\s,!.]+)?(?:how are you(?: doing)?(?: today)?|how r u|how's it going|hows it going|what's up|whats up|wassup|sup"
    r"|who are you|what are you|what can you do|what do you do|what can you help (?:me )?with|are you (?:there|real|human|a bot|a robot|an ai|ok|okay)"
    r"|you there|anyone there|what time is it(?: now)?|what's the time|whats the time|what(?:'s| is) the date"
    r"|(?:tell|give) me (?:a|an|another|some) (?:\w+ )?(?:jokes?|riddles?|fun facts?)"
    r"|你是谁|你是什么|你是机器人吗|你是真人吗|你是ai吗|你会(?:做|干)?(?:什么|啥)|你能(?:做|干|帮我做|帮我干)?(?:什么|啥)|你有什么功能|你好吗|你还好吗|你在吗|在干嘛|在干什么|吃了吗"
    r"|(?:现在|请问现在)?(?:是)?几点(?:钟)?了?|(?:给我|跟我)?(?:再)?[讲说](?:一)?个(?:冷)?笑话(?:吧|听听)?)[\s?？!！.。~～吗呢呀啊]*",
    re.IGNORECASE,
)

# -- what asks for nothing personal: helpers between a person and what they want

VERB_FOR_ME = re.compile(
    r"\b(give|show|write|draw|make|find|sing|teach|tell|get|create|generate|build|code) me\b(?! (?:how|what|who|when|why|where|if|whether|which|about))",
    re.IGNORECASE,
)
HELPERS = re.compile(
    r"\b(?:can|could|would|will) (?:you|u)(?: please| pls| kindly)?\b|\b(?:please|pls|plz|kindly)\b|\bi(?: would|['’]d) like (?:you |u )?(?:to )?"
    r"|\bi (?:want|need) (?:you |u )?(?:to )?(?!my|our|the )|\bi (?:wonder|was wondering|am wondering|want to know|need to know|would like to know)(?: if)?\b|\bi['’]?m curious\b|\bdo (?:you|u) know\b|\b(?:help|tell|show|teach) me\b(?: to| with)?|\blet me know\b|\bfor me\b"
    r"|\blike i['’]?m (?:a )?(?:five|5|ten|a child|child|kid|dumb|stupid)\b|\beli5\b|^\W*(?:hey|hi|hello|ok|okay|so|also|and|now|just|quick question|question)\b[,:]?(?= )"
    r"|(?:请|麻烦|劳驾)(?:你|您)?|(?:你|您)?(?:能不能|可不可以|能否|可以|能)(?=帮|给|替|告诉|写|翻|把|用|教|解)|(?:帮|给|替|为|教)(?:我们|我|忙)(?:一下|下|个忙|看看)?|帮忙"
    r"|我想(?:知道|问一下|问问|问下|问|了解|请教|要)|我(?:要|需要|想要)(?=一)|(?:告诉|跟|和)我(?:说说|说|讲讲|讲)?|(?:你|您)知道(?:吗)?|请问",
    re.IGNORECASE,
)
#: «How do I …» asks how anybody does.
ANYBODY = re.compile(
    r"\b(?:how|why) (?:do|can|could|would|should|does) (?:i|we)\b(?! (?:usual|like|feel|know|get to|pay|take|always|normal))",
    re.IGNORECASE,
)
#: Nobody in particular: «a football team», «a product manager».
ANYONES = re.compile(
    r"\ban? (?:\w+ ){0,2}(?:mom|dad|wife|husband|boss|manager|landlord|colleague|roommate|daughter|son|sister|brother|team|customer|client|neighbou?r)\b",
    re.IGNORECASE,
)
#: Words of somebody else, given to be worked upon.
QUOTED = re.compile(r"[“\"「『《][^”\"」』》\n]{0,400}[”\"」』》]|(?<![\w])['‘][^'’\n]{1,200}['’](?!\w)")
GIVEN = re.compile(
    r"translat|summar|shorten|simplif|polish|improve|expand|extract|classif|following|below|\bmake (?:this|it|that|these|the)\b|more (?:polite|formal|casual|concise)|proofread|rewrite|rephrase|paraphrase|reword|correct|grammar|spelling|sentence|paragraph|text|\b(?:this|the) (?:sql|query|code|regex|function|snippet|script|json|error)\b|fix|explain|convert|format"
    r"|翻译|译成|总结|概括|润色|改写|重写|校对|说法|错别?字|标点|语法|句|段|续写|缩写|扩写|解释|病句|格式|检查|这个?段?(?:sql|代码|函数|脚本|正则|报错)|以下|下列|下面",
    re.IGNORECASE,
)
#: Whose the text is that is given.
MINE = re.compile(r"\bmy\b|我的", re.IGNORECASE)
#: Between a command and the text it is given.
GIVEN_AFTER = re.compile(r"[:：]|\n|(?:(?<=翻译)|(?<=翻译下)|(?<=翻译一下))\s*(?=[A-Za-z])")

# -- what is somebody's own: with one of these, no command and no question is general

PERSONAL = re.compile(
    r"\b(?:i|i'm|im|i've|ive|i'd|i'll|me|my|mine|myself|we|we're|we've|our|ours|he|him|his|she|her|hers|someone)\b|\bus\b(?<!the us)"
    r"|\b(?:remember\w*|remind\w*|recall|forg[eo]t\w*|memor\w+|yesterday|today|tomorrow|tonight|weekends?|ago|earlier|previous\w*|recent\w*"
    r"|what (?:you|u) (?:know|have|remember)|you know (?:how|what|about|that|who)|as (?:you know|discussed|agreed|planned)|mention\w*|told|said|usual\w*|prefer\w*|favou?rites?|always|so far|left off|the other day|just now|like before|as before|same as)\b"
    r"|\b(?:last|next|this) (?:time|night|week|month|year|weekend|morning|afternoon|evening|sprint|quarter|(?:mon|tues|wednes|thurs|fri|satur|sun)day)s?\b"
    r"|\b(?:on|by|until|till|every) (?:mon|tues|wednes|thurs|fri|satur|sun)days?\b"
    r"|(?<!\ba )(?<!\ban )(?<!\bany )\b(?:mom|mum|mommy|dad|daddy|grandma|grandpa|wife|husband|boss|manager|landlord|landlady|roommates?|flatmates?|colleagues?"
    r"|coworkers?|teammates?|girlfriend|boyfriend|daughter|son|sister|brother|aunt|uncle|cousin|niece|nephew|team|customer|client|neighbou?rs?)\b"
    r"|(?<!自)我(?!国)|自我介绍(?!的?(?:模板|范文|格式))|咱|俺|(?<![其吉])他|她|本人|记住|记得|记下|记一下|忘|提醒|回忆|昨天|昨晚|昨日|前天|今天|今晚|今早|明天|明晚|后天|上次|上回|上周|上月|上个|下周|下月|下个月|之前|以前"
    r"|刚才|刚刚|最近|那天|那次|当时|曾经|平时|习惯|喜欢|偏好|爱吃|惯例|老规矩|照旧|老样子|周末|本周|这周|今年|去年|明年|来着|说过|提过|聊过|讲过|问过|推荐过"
    r"|(?:周|星期|礼拜)[一二三四五六日天](?!常)|妈妈|老妈|爸爸|老爸|爷爷|奶奶|外婆|老婆|老公|妻子|丈夫|女儿|儿子|孩子|闺女|老板|房东|同事|室友|邻居|领导|客户|女朋友|男朋友"
    r"|女友|男友|姐姐|妹妹|哥哥|弟弟|表[姐妹哥弟]|堂[姐妹哥弟]|阿姨|叔叔|舅舅|姑姑|姨妈|团队|老家|家里|[小老阿][王李张刘陈杨赵黄周吴徐孙胡朱林何郭罗梁宋郑谢韩唐冯于董程曹袁邓许沈曾彭吕苏卢蒋蔡贾丁魏薛叶余潘杜戴钟汪田任姜范姚谭廖邹熊陆郝"
    r"崔邱秦顾侯邵孟段雷钱汤尹黎易武乔贺赖龚明红刚美丽芳强华伟军杰亮玲娜敏静霞辉]",
    re.IGNORECASE,
)
LANGUAGE = (
    r"english|chinese|mandarin|cantonese|french|german|spanish|italian|japanese|korean|russian|portuguese|arabic|hindi|dutch|latin|greek|turkish|polish|swedish"
    r"|vietnamese|thai|danish|norwegian|finnish|hebrew|ukrainian|czech"
)
TECHNOLOGY = (
    r"python|java|javascript|typescript|golang|rust|ruby|php|perl|kotlin|swift|scala|css|html|react|vue|angular|node(?:js)?|django|flask|spring|pandas|numpy"
    r"|excel|word|powerpoint|latex|markdown|regex|sql|mysql|sqlite|mongodb|redis|linux|bash|shell|zsh|vim|emacs|vscode|git|github|docker|kubernetes|k8s|nginx"
    r"|json|yaml|xml|csv|pdf|photoshop|figma|tcp|udp|http|https|rest|graphql|api|c\+\+|c#|js|ts|ipv4|ipv6|dns|oauth|jwt|macos|windows|android|ios|iphone"
)
#: Things of a household, of work and of operations: definite ones are somebody's own.
LOCAL = (
    r"projects?|meetings?|stand-?ups?|servers?|clusters?|staging|production|prod|deploy\w*|releases?|builds?|pipelines?|migrations?|backups?|passwords?|wifi|wi-fi"
    r"|vpn|api keys?|keys?|credentials?|configs?|settings?|ports?|invoices?|budgets?|deadlines?|schedules?|contracts?|lease|rent|leases?|appointments?|dentist|doctor|vet|flights?|trips?"
    r"|hotels?|reservations?|bookings?|orders?|tickets?|sprints?|roadmaps?|on-?call|on call|incidents?|outages?|alerts?|status|updates?|plans?|notes?|minutes|docs?|reports?"
    r"|conversations?|chats?|discussions?|proposals?|drafts?|designs?|logos?|office|kitchen|garage|garden|house|apartment|flat|cabin|shed|fence|bedroom|car|cat|dog|pet|kids?|children|kid|birthday"
    r"|anniversary|wedding|party|dinner|lunch|breakfast|recipe|gym|school|bakery|landlord|interns?|contact|vendor|supplier|repos?|branch|database|db|service|job|bug|issue|account|subscription"
)
ZH_LOCAL = (
    r"项目|服务器|密码|口令|会议|例会|开会|合同|部署|发布|上线|预算|测试环境|预发|生产环境|生产库|环境|端口|办公室|公司|门禁|快递|账单|电费|水费|房租|体检|医生|预约|航班|行程|生日|地址|通讯录"
    r"|方案|需求|版本|备份|日志|周报|日报|报告|聊天|对话|讨论|线上|集群|进度|工单|订单|发票|报销|值班|故障|告警|流水线|配置|账号|帐号|猫叫|狗叫|小区|车牌|车位|医院|学校|孩子|婚礼|聚会|旅行|礼物"
)
DEFINITE_LOCAL = re.compile(
    rf"\b(?:the|this|that|these|those|whose|open)\s+(?:\w+\s+){{0,2}}(?:{LOCAL})\b", re.IGNORECASE
)
ANY_LOCAL = re.compile(rf"\b(?:{LOCAL})\b", re.IGNORECASE)
CHINESE_LOCAL = re.compile(ZH_LOCAL)
INDEFINITE = re.compile(r"一[个段份篇首封条句则组张只道]|[个段份篇首条句]|几[个条种]|随机|\d", re.IGNORECASE)
#: A name that is written as one, within a sentence.
NAME = re.compile(
    rf"(?<=[a-z,] )(?!(?:{LANGUAGE}|{TECHNOLOGY})\b)(?-i:[A-Z][a-z]{{2,}})\b|\b(?:mr|mrs|ms|dr|prof)\b\.? (?-i:[A-Z][a-z]+)",
    re.IGNORECASE,
)
#: What somebody has, but for «what's» and its like.
POSSESSIVE = re.compile(
    r"\b(?!(?:what|who|where|when|how|that|it|let|there|here|he|she)['’])[a-z]{2,}['’]s\b(?! (?:the|a|an|up|going)\b)",
    re.IGNORECASE,
)

# -- a command on a text that is given, or for something anybody may have

COMMAND = re.compile(
    r"\W*(?:(?:then|also|and|now|ok|okay|hey)\W+){0,2}(?:"
    r"(?:translate|summari[sz]e|tl;?dr|proof-?read|rewrite|rephrase|paraphrase|reword|correct|shorten|simplify|format|reformat|convert|calculate|compute|solve|sort"
    r"|list|enumerate|name|write|generate|create|draft|compose|code|explain|define|describe|implement|refactor|debug|optimi[sz]e|count|roll|flip|draw|sing|extract"
    r"|classify|spell|improve|polish|elaborate|expand|brainstorm|imagine|pretend|print|reverse|capitali[sz]e)\b"
    r"|\w+\s+(?:this|these|the (?:following|above)|the)\s+(?:\w+ ){0,2}(?:paragraph|sentence|text|article|essay|passage|phrase|snippet|json|csv|stack ?trace|error message|poem)s?\b"
    r"|(?:tell|say)\s+something\b|make\s+(?:it|this|that|these|the)(?: \w+)?\s+(?:\w+er\b|more|less|sound|into|rhyme|funn\w+|formal|polite|short|simple|professional|casual|clear|concise|better)|(?:turn|change|put|break|split)\s+(?:it|this|that|these|the \w+)\s+(?:\w+ )?(?:in)?to\b"
    r"|(?:check|review|edit|fix|read|look at|analy[sz]e|clean up)\s+(?:this|these|the (?:following|below|text|code|grammar|spelling|typos?))\b"
    r"|(?:make|give|do)\s+(?:a|an|some|another|five|ten|three|two|\d+)\b"
    r"|(?:tell|give|show)\s+(?:a|an|another|some|five|ten|three|two|\d+)\b|(?:a|an|some)\s+(?:\w+\s+){0,3}(?:script|function|regex|query|poem|haiku|story|essay|snippet|joke|limerick|program|example)s?\b"
    r"|(?:set|start)\s+a\s+timer\b|pick a (?:random )?number|what(?:['’]?s| is) wrong (?:with|in) (?:this|the (?:following|code|query|sql|script|function|regex|snippet))\b|why (?:does(?:n['’]?t| not)|is(?:n['’]?t| not)?) (?:this|the) (?:code|query|sql|script|function|regex|loop)"
    r"|(?:(?:把|将|对|给|为)[^\n]{0,30}?|用\S{1,12}?)?(?:翻译|翻成|译成|译为|润色|改写|缩写|扩写|续写|校对|总结|概括|归纳|提炼|精简|重写|格式化|纠正|改成|转成|转换|转为|排序|排版)"
    r"|(?:把|将|对|给|为)(?:这|下面|以下|下列|上面)[^\n]{0,6}(?:话|文字|文章|代码|内容|句子?|段落?|文本|英文|中文|表格?|列表|数据|邮件|作文|论文|单词|题目?|诗|字符串)"
    r"|(?:检查|看|修改|优化|分析|阅读|读|改|解释|润色)(?:一下|下|看)?(?:这|下面|以下|上面|语法|错别字)|解释|换(?:个|一种)(?:说法|表达|方式)|改(?:一下|下)?(?:错别?字|病句|语病|标点)|(?:下面|以下|这)[^\n]{0,12}(?:语法|语病|病句|通顺|对吗|错|bug|问题)|计算|算一?下|求(?:解)?"
    r"|(?:(?:给|为|根据|按)(?:这|下面|以下|上面)[^\n]{0,12}?|用\S{1,12}?\s?)?(?:写|编|创作|生成|做|画|列|来|实现|造|起|设计|举|出|讲|说|随机|造句|背|唱)(?:出|一|个|首|篇|段|份|条|句|道|几|两|三|四|五|六|十|\d|[a-z]|快速|冒泡|单例|正则|代码|函数|脚本|诗|随机|单元|测试|注释|标题)"
    r")",
    re.IGNORECASE,
)
#: Words whose translation is asked for.
SAID_ABROAD = re.compile(
    rf"(?P<before>\bhow (?:do|would|can|to|does) (?:you |i |u |we |one )?(?:say|spell|write|pronounce)) .{{1,60}}(?P<after> in (?:{LANGUAGE})\b)"
    r"|^.{1,30}?(?=用?(?:英语|英文|日语|日文|法语|法文|德语|韩语|韩文|西班牙语|西语|粤语|俄语|意大利语|泰语)(?:里|中)?(?:应该)?(?:怎么|咋|如何|怎样)[说讲写念翻表])"
    rf"|(?P<verb>^\W*translate)\s(?!.*\b(?:told|said|sent|wrote|message|yesterday|last|my|our|earlier)\b).{{1,80}}(?P<into> (?:in)?to (?:{LANGUAGE})\b)",
    re.IGNORECASE,
)
#: For whom or from whom: a name after these is a person's unless it is a language.
TO_SOMEBODY = re.compile(
    rf"\b(?:to|for|from|with|about)\s+(?!(?:{LANGUAGE}|{TECHNOLOGY})\b)(?-i:[A-Z][a-z]+)", re.IGNORECASE
)
#: What is made for one person, and better for knowing them: not a form of it for anybody.
MADE_TO_MEASURE = re.compile(
    r"^(?!.*(?:template|sample|example|\bfor an?\b|模板|范文|例子|样例))(?:.*\b(?:(?:workout|training|fitness|meal|diet|study|reading|travel|trip|savings?|weekly|daily|exercise|running|revision|gym)\s+(?:plan|schedule|routine|program(?:me)?|budget|list)s?"
    r"|itinerary|resume|cv|cover letter|shopping list|to-?do list|packing list|wish ?list|wedding vows)\b|.*(?:(?:健身|减肥|学习|复习|训练|旅行|旅游|饮食|理财|储蓄|阅读|备考|跑步|周末|锻炼|装修)(?:的)?(?:计划|方案|安排|规划|清单|攻略)|食谱|简历|购物清单|待办|述职|年终总结|行程))",
    re.IGNORECASE,
)
#: «Why do we yawn» asks of everybody.
ALL_OF_US = re.compile(
    r"\b(why|when|how) do we (?=dream|yawn|sleep|sneeze|cry|blink|age\b|get (?:sick|goosebumps|hiccups|old)|have (?:leap|eyebrows|fingerprints|seasons|nails)|need (?:sleep|water|oxygen|to (?:sleep|eat))|feel pain|laugh|sweat|blush|celebrate|breathe|see|hear|smell)",
    re.IGNORECASE,
)
