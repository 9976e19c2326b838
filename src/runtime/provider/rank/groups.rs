//! A small hand-written thesaurus of general English: which words speak of the same matter.
//!
//! Each line is one group. Words before the bar name the matter itself; words after it are
//! things one speaks of in that matter and weigh less. A word may stand in several groups.
//! The groups were written from common knowledge of the language, in the manner of a thesaurus
//! by topics, and hold no brand or tool names.

/// The groups, `core words | hint words`, words in lower case separated by blanks.
pub(super) const GROUPS: &[&str] = &[
    // nature, places, travel
    "weather forecast climate meteorology | temperature rain rainy snow sunny humidity wind \
     windy storm thunderstorm precipitation umbrella cloudy heatwave hot cold degrees celsius \
     fahrenheit",
    "travel trip tourism vacation holiday tour journey itinerary | tourist sightseeing abroad \
     destination visit backpacking cruise getaway honeymoon traveler attractions landmarks",
    "hotel accommodation lodging hostel inn resort motel | stay room suite guesthouse booking \
     reservation nights checkin bnb beachfront",
    "flight aviation airline airport plane aircraft | pilot fly flying airfare layover \
     departure runway boarding takeoff landing",
    "train subway metro railway transit transport transportation bus | station route commute \
     line fare platform tram rail transfer",
    "car vehicle automobile auto truck suv sedan | drive driver dealer dealership mileage used \
     engine motor hybrid driving",
    "parking garage | park lot lots vacant spaces",
    "electric ev charger charging supercharger | battery plug charge station vehicle",
    "petrol gasoline fuel diesel gas | pump tank price litre gallon refuel",
    "map navigation directions location geography | route latitude longitude coordinates \
     distance nearest nearby satellite street address landmark",
    "road traffic highway roadwork | speed camera congestion jam speeding roads fine drive",
    "earthquake seismic quake | magnitude tremor aftershock tsunami epicenter richter disaster",
    "air pollution quality smog | aqi outdoors breathe pollen ozone allergy pollutants jogging",
    "space astronomy astronaut planet galaxy cosmos | mars moon rover telescope stars nebula \
     orbit satellite rocket universe lunar solar",
    "surf surfing beach wave waves swell | tide ocean surfer board break coast sea",
    "plant gardening garden houseplant flower | watering soil pot leaves repotting fertilizer \
     succulent sunlight prune grow indoor cactus fern",
    "animal pet dog cat | puppy kitten horse breed veterinary wildlife livestock bird",
    "transporter hauling shipping courier delivery freight | parcel package transport carrier \
     ship shipment relocate moving tracking logistics",
    // home and property
    "house home property estate realty condo villa | bedroom bathroom mansion neighborhood \
     residential housing backyard listing sqft homes",
    "purchase buy buying sale own | mortgage seller buyer owner realtor price sold purchasing",
    "rent rental renting lease apartment | tenant landlord lodger studio flat sublet furnished \
     monthly roommate deposit",
    "furniture decor interior | sofa room couch renovation remodel paint decorate",
    "hire hiring recruit recruiting freelance freelancer talent | contractor engineers \
     candidates developers staff team outsource skilled remote",
    // money
    "finance financial investment invest investing stock stocks equity | market shares \
     dividend trading bond bonds hedge earnings ticker volatility price investor etf options",
    "crypto cryptocurrency bitcoin blockchain ethereum token | nft wallet coin defi mining \
     stablecoin web3 altcoin gas staking exchange",
    "portfolio wealth asset allocation | returns diversification risk advisor fund manager \
     investments rebalancing performance retirement",
    "currency exchange convert forex conversion | dollar dollars euro euros yen pounds rupees \
     usd eur gbp jpy rate pesos money",
    "loan mortgage credit repayment | interest debt calculator payoff installment lender \
     amortization term payment borrow down",
    "tax taxes taxation vat | sales deduction irs income rate zip refund taxable",
    "bank banking account payment pay | transfer deposit withdraw balance card invoice \
     transaction checkout billing",
    "insurance policy coverage | claim premium insurer",
    "fund funding grant scholarship fundraising | startup investors raise sponsor \
     opportunities round capital eligibility",
    "charity nonprofit donation donate philanthropy | volunteer cause ngo charitable \
     organization giving foundation donor",
    "budget expense spending saving | save cost money accounting",
    "calculate calculator calculation compute math arithmetic formula | equation sum multiply \
     divide square root percentage add subtract algebra sine cosine logarithm mathematical",
    "price cost pricing | cheap expensive affordable worth fee budget rate average",
    // shopping
    "shop shopping store product products purchase buy retail ecommerce | cart items item \
     brand price order cheap affordable smartphone laptop headphones gadget shoes find budget",
    "discount coupon deal deals promo bargain voucher | save sale code codes offers cheaper \
     promotional off savings promotions",
    "gift gifts present presents | birthday christmas father mother anniversary wedding dad \
     girlfriend boyfriend idea ideas celebrate surprise",
    "compare comparison versus | difference differences better between options side pros cons \
     vs",
    "review reviews rating ratings feedback | opinion customers testimonials pros cons product \
     advantages disadvantages reputation experiences",
    "clothing clothes fashion apparel outfit wear style | dress shirt tshirt hoodie jacket \
     shoes wardrobe jeans accessories hat look tee wearing attire sneakers sweater",
    "beauty cosmetics makeup skincare | lipstick perfume fragrance shampoo moisturizer mascara \
     skin hair cream lotion nail foundation haircare",
    "recipe recipes cooking cook meal dish | ingredients dinner bake chicken pasta vegan \
     dessert lunch breakfast cuisine cake kitchen soup salad vegetarian",
    "diet nutrition calorie calories food | protein carbs healthy weight vegetarian keto meals \
     eat eating vegan fat vitamins grocery lose menu snack nutritional",
    "restaurant dining reservation table cafe | dinner lunch menu cuisine sushi chef eat \
     reserve bar eatery seats bistro food book booking",
    "wine beer sake drink alcohol cocktail | brewery bottle rice tasting brewing whisky vodka",
    // health and sport
    "health medical medicine disease illness | doctor symptom hospital patient risk treatment \
     virus covid flu vaccine safety infection pandemic wellness",
    "clinical trial trials biomarker | drug patients therapy treatment cancer eligibility \
     criteria study studies enrollment phase placebo diabetes participants",
    "workout fitness exercise gym training | muscle coach cardio strength yoga weights squat \
     abs reps running stretching routine bodybuilding",
    "habit habits routine | daily discipline small consistency meditate build motivation \
     streak",
    "football soccer league | match goal premier teams player fixture score standings cup \
     results striker fans manager squad",
    "sport sports team | basketball baseball hockey player game season athlete championship \
     roster stadium playoffs coach professional",
    // play
    "game games gaming gamer play | player multiplayer console puzzle level fun bored quest \
     video strategy rpg",
    "chess checkers checkmate opponent grandmaster | move board knight bishop pawn queen king \
     opening novice",
    "card cards deck | hand trading magic poker play points scoring",
    "dice roll rolling die | d20 d6 modifier roleplaying random tabletop dungeons",
    "puzzle crossword riddle sudoku | clue clues words hints grid solve brain difficulty",
    "history historical past ancient era | medieval century war empire civilization pharaoh \
     roman travel ago revolution king time",
    "horoscope astrology zodiac | sign aries taurus gemini cancer leo virgo libra scorpio \
     sagittarius capricorn aquarius pisces birth chart stars compatibility planets",
    "tarot fortune divination | reading cards spread psychic future deck meaning prediction",
    "personality mbti psychology test | introvert extrovert type traits assessment temperament",
    "ticket tickets concert event events theater | seats show sports live music festival \
     attend venue match musical admission",
    "theatre broadway musical play | stage show actor performance playing drama matinee",
    "museum art artwork painting gallery | sculpture artist exhibition portraits pieces \
     drawings impressionist masterpiece",
    // media
    "music song songs playlist soundtrack | artist album band singer listen genre track \
     concert melody jazz rock pop hits tune audio",
    "movie movies film tv television show shows series | watch streaming stream actor actress \
     episode documentary season director cinema comedy drama thriller",
    "podcast podcasts | episode episodes host interview listen listening show audio",
    "video videos clip footage | watch vlog record edit highlights stock film animation \
     editing summary channel transcript",
    "image images picture pictures photo photos photograph photography | photorealistic \
     snapshot visual illustration camera wallpaper gallery portrait selfie",
    "edit editing modify filter retouch crop resize blur | brightness background enhance \
     effect photo rotate contrast color sharpen",
    "gif gifs animated meme memes sticker | funny reaction humor laugh hilarious joke caption",
    "3d model models asset assets render | mesh texture object animation sculpt printing",
    "design designer template graphic layout | logo banner poster visual creative flyer \
     brochure mockup card",
    "logo brand branding font fonts | color colors palette identity guidelines company",
    "ocr scan scanned handwriting extract | text document photo handwritten read recognition \
     receipts",
    "audio voice speech sound | text spoken listen narration convert mp3 voiceover podcast \
     speak recording",
    "qr barcode qrcode | scan code link url business card",
    // words and knowledge
    "news headlines journalism newspaper | breaking article politics events happening media \
     press world latest updates current reporter affairs",
    "newsletter newsletters | subscribe author article posts publication writer",
    "book books novel novels reading | author fiction library chapter genre read bestseller \
     literature ebook reader publisher biography mystery",
    "story stories tale fairytale | narrative write illustrated children picture bedtime \
     character plot hero fantasy",
    "kids children child toddler preschool | educational fun learning daughter son years old \
     parents activities age",
    "write writing writer author content | essay article blog copy draft proofread editor \
     ghostwriter tone",
    "rewrite rephrase paraphrase polish reword | sentence grammar tone improve wording style \
     slogan creative rewriting humanlike engaging",
    "word words count counter character characters | length many letters essay spaces text \
     paragraph number",
    "translate translation language languages foreign | spanish french german japanese chinese \
     italian korean phrase pronunciation bilingual say vocabulary english fluent native tutor",
    "exam test | speaking practice questions preparation prep score mock english interview",
    "course courses education learning university class | lesson study degree tutorial student \
     teacher certificate skill workshop training curriculum lectures professor online",
    "flashcard flashcards memory memorize spaced repetition | review study recall remember \
     learn deck quiz retention",
    "research academic paper papers scholarly scientific | journal publication study citation \
     author literature peer thesis scientist findings abstract bibliography doi",
    "summarize summary summaries digest condense | key points article long brief main overview \
     takeaways highlights tldr",
    "pdf document documents file | page pages attachment docx paper read chapter text export",
    "export download save convert | file pdf format conversation chat txt output stylized",
    "religion islam prophet hadith spiritual | quran prayer muslim faith god bible verse allah \
     islamic teachings",
    "law legal laws lawyer attorney | court rights regulation statute legislation contract \
     divorce copyright sue judge crime illegal compliance clause",
    "politics political government election parliament | congress vote minister speech policy \
     candidate senator party brexit bill democracy mp",
    "census demographic population statistics | data dataset income county survey households \
     state percentage race",
    // work and business
    "job jobs career employment vacancy | position interview salary hiring employer resume \
     opening work engineer developer applicant internship manager remote seeker occupation",
    "resume cv curriculum vitae | cover letter skills experience job professional template",
    "company companies business corporate firm | revenue employees ceo industry startup \
     founded enterprise headquarters competitor profile funding",
    "sales lead leads prospect prospecting client clients customers | crm outreach revenue \
     pipeline meeting sell appointment b2b salesperson",
    "marketing advertising advertisement ad ads campaign | ppc promote audience social keyword \
     budget clicks brand adwords creative promotional",
    "competitor competitors rival | competition competitive analysis industry website strategy",
    "product roadmap development feature | customer prioritize strategy manager launch user \
     practices interview",
    "project task tasks management | deadline assign team sprint priority progress kanban \
     assignee milestones due",
    "reminder todo note notes list schedule calendar | remind task deadline appointment \
     meeting errands agenda event mark plan organize",
    "message sms text messages notification | send daily phone schedule inspirational reply \
     chat scheduled",
    "email mail inbox | send message reply attachment draft unread sender contact recipient \
     newsletters",
    "call calls meeting meetings phone | transcript recorded contact recording discussed \
     minutes conference customer missed",
    "automation automate workflow integrate integration | apps connect trigger sheets task \
     automatically",
    "form survey questionnaire quiz poll | questions responses feedback respondents customers \
     collect fields",
    "chart graph diagram plot visualization visualize | pie bar flowchart line data mind \
     scatter histogram sequence illustrate state trend network",
    "spreadsheet sheet csv table | row column cell formula import workbook",
    // web and computing
    "website site webpage web page | domain landing homepage visitor blog url build host \
     publish browser link deploy hosting",
    "domain dns registrar url | name register registered availability whois expire ownership \
     hosting",
    "seo ranking keyword keywords serp search | traffic organic backlinks optimize \
     optimization volume rank content website meta engine",
    "scrape scraping crawl extract scraper | page content data webpage html website url",
    "browse browser internet web search | online page url look results engine query websites",
    "security vulnerability scanner hacking cybersecurity | scan threat attack malware \
     firewall hacker penetration exploit vulnerabilities",
    "server ssh command linux | terminal cpu disk cloud log restart process remote instance \
     deploy infrastructure vm directory",
    "app application mobile android ios | build builder develop phone software iphone code",
    "code coding programming program developer software | function bug script python \
     javascript algorithm repository library debug snippet",
    "repository repo git project | commit branch pull fork code opensource issue merge stars \
     file",
    "database sql query table | select join schema records rows statement",
    "notebook python data | sql analysis dataset plot markdown visualize notebooks",
    "webhook webhooks http endpoint api | request trigger callback notify payload post \
     javascript",
    "social tweet tweets | post hashtag followers influencer viral media profile trending \
     users likes",
    "time timezone clock date | current hour utc zone now format day exact",
    // verbs of getting things done, and the general vocabulary of services
    "create make generate produce build compose craft | new draft",
    "delete remove erase drop clear | cancel discard purge trash",
    "update change modify edit alter revise | replace adjust rename set",
    "send deliver dispatch transmit submit | forward share",
    "buy purchase order acquire | get pay",
    "fix repair solve resolve troubleshoot debug | broken error problem issue bug fault",
    "show display list view present | see browse",
    "find search locate look discover seek lookup | where query",
    "recommend suggest advise recommendation suggestion advice | idea tips best ideas",
    "check verify validate confirm test inspect | whether valid",
    "monitor watch observe track tracking alert | metrics log logs dashboard status",
    "folder directory path filesystem | file copy move rename read write",
    "cluster container pod node deployment deploy | namespace scale service replica host",
    "password login credential authentication account | user secret token key sign hacked \
     leaked breach",
    "archive backup snapshot history | restore past old previous earlier version",
    "blog blogger post article | publish author comment comments",
    "memory remember recall recollect | store saved previous earlier",
];
