"""Validity of served HTML: html5lib's parse errors, then vocabulary and content model.

html5lib parses as the standard says and reports each place where a browser has to guess. It knows
nothing of which attribute or child an element may have, so that is here, for what our pages use:
an element or attribute not in these tables is a fault (`hx-get`, `onclick`, a typing error).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from xml.etree.ElementTree import Element

import html5lib
from html5lib.constants import E


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_GLOBAL = _words(
    "id class lang dir hidden tabindex role autofocus inert spellcheck translate inputmode"
    " autocapitalize enterkeyhint")
_ATTRIBUTES = {
    name: _words(words)
    for name, words in {
        "a": "href rel target hreflang type download",
        "button": "type name value disabled form formaction formmethod formnovalidate",
        "col": "span", "colgroup": "span", "details": "open name", "fieldset": "disabled name",
        "form": "action method novalidate autocomplete name enctype rel", "html": "",
        "img": "src alt width height loading", "label": "for", "li": "value",
        "input": "type name value checked disabled readonly required min max step minlength"
                 " maxlength pattern placeholder list autocomplete size multiple form",
        "link": "rel href type sizes media as integrity", "meta": "name content charset http-equiv",
        "ol": "start type reversed", "optgroup": "label disabled",
        "option": "value selected disabled label", "output": "for name form",
        "script": "src defer async type integrity nomodule",
        "select": "name disabled required multiple size autocomplete form", "data": "value",
        "td": "colspan rowspan headers", "th": "colspan rowspan headers scope abbr",
        "textarea": "name rows cols disabled readonly required minlength maxlength placeholder"
                    " wrap autocomplete form",
        "time": "datetime", "progress": "value max", "meter": "value min max low high optimum",
    }.items()
}
_PLAIN = _words(
    "abbr address article aside b body br caption cite code datalist dd del dfn div dl dt em"
    " figcaption figure footer h1 h2 h3 h4 h5 h6 head header hr i ins kbd legend main mark nav"
    " noscript p pre q s samp search section small span strong sub summary sup table tbody"
    " template tfoot thead title tr u ul var wbr")
_FLOW = _words(
    "address article aside blockquote div dl fieldset figure footer form h1 h2 h3 h4 h5 h6 header"
    " hr main nav ol p pre section table ul details")
_INTERACTIVE = frozenset(("a", "button", "input", "select", "textarea", "label", "details"))
_PHRASING_ONLY = _words(
    "p h1 h2 h3 h4 h5 h6 span strong em b i small code kbd samp label button abbr time dfn pre"
    " summary legend q cite s u mark output")
_CHILDREN = {
    "ul": {"li", "template"}, "ol": {"li", "template"}, "dl": {"dt", "dd", "div"},
    "table": {"caption", "colgroup", "thead", "tbody", "tfoot", "tr"}, "thead": {"tr"},
    "tbody": {"tr"}, "tfoot": {"tr"}, "tr": {"th", "td"}, "select": {"option", "optgroup", "hr"},
    "optgroup": {"option"}, "colgroup": {"col"}, "datalist": {"option"},
}
_SVG = "{http://www.w3.org/2000/svg}"
_HTML = "{http://www.w3.org/1999/xhtml}"


def faults(source: str) -> list[str]:
    """Names every fault of a whole page as it was served."""
    parser = html5lib.HTMLParser(html5lib.getTreeBuilder("etree"))
    tree = parser.parse(source)
    found = [f"line {place[0]}: {E[code] % data}" for place, code, data in parser.errors]
    found += _spelled(source)
    for element, above in _walk(tree, ()):
        found += _unknown(element) + _misplaced(element, above)
    return found + _places(tree)


def _walk(element: Element, above: tuple[str, ...]) -> Iterator[tuple[Element, tuple[str, ...]]]:
    """Every HTML element with the names above it, nearest last; drawings are left alone."""
    if not isinstance(element.tag, str) or element.tag.startswith(_SVG):
        return
    yield element, above
    for child in element:
        yield from _walk(child, (*above, _name(element)))


def _name(element: Element) -> str:
    return str(element.tag).removeprefix(_HTML)


def _spelled(source: str) -> list[str]:
    """Faults the tree no longer shows: an end tag left out, which is legal but never meant."""
    opened = len(re.findall(r"<(?:li|p|td|th|tr|dt|dd)[\s>]", source))
    closed = len(re.findall(r"</(?:li|p|td|th|tr|dt|dd)>", source))
    return [] if opened == closed else [f"{opened} start and {closed} end tags of li, p, td, tr..."]


def _unknown(element: Element) -> list[str]:
    name = _name(element)
    if name not in _ATTRIBUTES and name not in _PLAIN:
        return [f"the element <{name}> is not one of those we use"]
    if "autocomplete" in element.attrib and element.get("type") in ("checkbox", "radio"):
        return [f"<{name} type={element.get('type')}> has an attribute autocomplete"]
    allowed = _GLOBAL | _ATTRIBUTES.get(name, frozenset())
    return [
        f"<{name}> has an attribute {attribute}"
        for attribute in element.attrib
        if attribute not in allowed and not attribute.startswith(("data-", "aria-"))
    ]


def _misplaced(element: Element, above: tuple[str, ...]) -> list[str]:
    name, parent = _name(element), above[-1] if above else ""
    found = []
    if parent in _CHILDREN and name not in _CHILDREN[parent]:
        found.append(f"<{name}> as a child of <{parent}>")
    if parent in _PHRASING_ONLY and name in _FLOW and not _may_head(name, parent):
        found.append(f"<{name}> inside <{parent}>")
    holders = [tag for tag in above if tag in ("a", "button")]
    if holders and name in _INTERACTIVE:
        found.append(f"<{name}> inside <{holders[-1]}>")
    if name == "form" and "form" in above:
        found.append("a form inside a form")
    if name == "legend" and parent != "fieldset":
        found.append(f"<legend> inside <{parent}>")
    return found


def _may_head(name: str, parent: str) -> bool:
    return parent in ("legend", "summary") and bool(re.fullmatch("h[1-6]", name))


def _places(tree: Element) -> list[str]:
    """Ids are there once and are what the references name; one title, one main."""
    ids = [str(element.get("id")) for element in tree.iter() if element.get("id")]
    found = [f"the id {name} is there twice" for name in sorted(set(ids)) if ids.count(name) > 1]
    found += [f"the id {name!r} has a space in it" for name in ids if re.search(r"\s", name)]
    for attribute in ("for", "list", "aria-describedby", "aria-labelledby", "aria-controls"):
        for element in tree.iter():
            for name in str(element.get(attribute) or "").split():
                if name not in ids:
                    found.append(f"{attribute} names {name}, which is not there")
    for name in ("title", "main"):
        count = sum(1 for _ in tree.iter(_HTML + name))
        found += [f"{count} <{name}> instead of one"] if count != 1 else []
    return found
