// What a page can be measured for from inside: an object of functions, evaluated per page.
(() => {
  const FOCUSABLE = 'a[href], button, input, select, textarea, summary, [tabindex]'
  const isShown = element =>
    element.checkVisibility({visibilityProperty: true}) && element.getClientRects().length > 0
  const nameOf = element => {
    const text = (element.getAttribute('aria-label') || element.textContent || element.name || '')
    return `<${element.localName}${element.id ? ' id=' + element.id : ''}> ` +
      text.replace(/\s+/g, ' ').trim().slice(0, 50)
  }
  const stopsOf = () => [...document.querySelectorAll(FOCUSABLE)].filter(element =>
    element.tabIndex >= 0 && !element.disabled && isShown(element))

  // The part of an element's first box that is on the screen; null when nothing of it is.
  const seenBox = element => {
    const box = element.getClientRects()[0]
    if (!box) return null
    const [left, right] = [Math.max(box.left, 0), Math.min(box.right, innerWidth)]
    const [top, bottom] = [Math.max(box.top, 0), Math.min(box.bottom, innerHeight)]
    return right - left > 1 && bottom - top > 1 ? {left, right, top, bottom} : null
  }
  const ringFaults = element => {
    const faults = []
    const style = getComputedStyle(element)
    if (style.outlineStyle !== 'solid' || parseFloat(style.outlineWidth) < 3) {
      faults.push(`no ring of 3 px (${style.outlineStyle} ${style.outlineWidth})`)
    }
    const box = seenBox(element)
    if (!box) return [...faults, 'not on the screen']
    const hit = document.elementFromPoint((box.left + box.right) / 2, (box.top + box.bottom) / 2)
    if (!hit || !(element.contains(hit) || hit.contains(element))) {
      faults.push(`covered by ${hit ? nameOf(hit) : 'nothing'}`)
    }
    return faults
  }
  return {
    // Where the keyboard is now.
    focus: () => ({tag: document.activeElement.localName, id: document.activeElement.id,
      name: nameOf(document.activeElement), faults: ringFaults(document.activeElement)}),
    order: () => stopsOf().map(nameOf),
    // Every stop of the keyboard, by focusing each; needs a key pressed before (:focus-visible).
    rings: () => {
      const faults = []
      for (const element of stopsOf()) {
        element.focus()
        if (document.activeElement !== element) faults.push(`${nameOf(element)}: takes no focus`)
        else ringFaults(element).forEach(fault => faults.push(`${nameOf(element)}: ${fault}`))
      }
      if (document.activeElement) document.activeElement.blur()
      scrollTo(0, 0)
      return faults
    },
    // WCAG 2.5.8: links in running text are excepted, a label enlarges its control.
    small: () => stopsOf().filter(element => {
      if (element.localName === 'a' && getComputedStyle(element).display === 'inline') return false
      if (/(^| )(vh|skip)/.test(element.className)) return false
      const boxes = [element, ...(element.labels || [])].map(one => one.getBoundingClientRect())
      return !boxes.some(box => box.width >= 24 && box.height >= 24)
    }).map(element => {
      const box = element.getBoundingClientRect()
      return `${nameOf(element)}: ${box.width.toFixed(0)} x ${box.height.toFixed(0)} px`
    }),
    headings: () => [...document.querySelectorAll('h1, h2, h3, h4, h5, h6')].filter(isShown)
      .map(element => ({level: Number(element.localName[1]), name: nameOf(element)})),
    overflow: () => document.documentElement.scrollWidth - document.documentElement.clientWidth,
    // Text cut off by its own box, which a wider spacing or a narrow screen brings about.
    clipped: () => [...document.querySelectorAll('main *')].filter(element => {
      const style = getComputedStyle(element)
      if (!['hidden', 'clip'].includes(style.overflowX) || !isShown(element)) return false
      if (style.position === 'absolute' && element.clientWidth <= 1) return false
      return element.textContent.trim() && (element.scrollWidth > element.clientWidth + 1 ||
        element.scrollHeight > element.clientHeight + 1)
    }).map(nameOf),
    // WCAG 1.4.12; our own policy blocks a style element, an adopted sheet is not one.
    widen: () => {
      const sheet = new CSSStyleSheet()
      sheet.replaceSync('* {line-height: 1.5 !important; letter-spacing: .12em !important;' +
        ' word-spacing: .16em !important} p {margin-bottom: 2em !important}')
      document.adoptedStyleSheets = [sheet]
    },
    narrow: () => { document.adoptedStyleSheets = [] },
    // A chip or a status word that colour alone would have to tell.
    wordless: () => [...document.querySelectorAll('.chip, .tag')]
      .filter(element => isShown(element) && !element.textContent.trim()).map(nameOf),
    motion: () => document.getAnimations().length,
  }
})()
