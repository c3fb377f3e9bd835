// The announcement recorder: what a screen reader would be told by the live regions of this page.
// One entry per region and batch of changes, in `window.announced`, with flags for whatever the
// browsers and readers are known to handle differently. It uses no timer, so it also works under
// a stopped clock.
(() => {
  if (window.announced) return
  const announced = window.announced = []
  const REGIONS = '[aria-live], [role=status], [role=alert], [role=log], output'
  const known = new WeakSet()
  const lastSaid = new WeakMap()

  const politeness = element => {
    const role = element.getAttribute('role')
    return element.getAttribute('aria-live') ||
      {alert: 'assertive', status: 'polite', log: 'polite'}[role] ||
      (element.localName === 'output' ? 'polite' : null)
  }
  const elementOf = node => node.nodeType === Node.ELEMENT_NODE ? node : node.parentElement
  const squeeze = text => text.replace(/\s+/g, ' ').trim()

  // The nearest region round a node; none inside an island that is switched off.
  const regionOf = node => {
    for (let at = elementOf(node); at; at = at.parentElement) {
      const live = politeness(at)
      if (live) return live === 'off' ? null : at
    }
    return null
  }
  const isHidden = node => {
    const element = elementOf(node)
    return !element || !!element.closest('[aria-hidden=true], [hidden]') ||
      getComputedStyle(element).display === 'none'
  }
  const textOf = node => {
    if (node.nodeType === Node.TEXT_NODE) return node.data
    if (node.nodeType !== Node.ELEMENT_NODE || node.getAttribute('aria-hidden') === 'true' ||
        node.hidden || getComputedStyle(node).display === 'none') return ''
    return [...node.childNodes].map(textOf).join('')
  }
  const isAtomic = region => region.getAttribute('aria-atomic') === 'true' ||
    (!region.hasAttribute('aria-atomic') &&
     ['status', 'alert'].includes(region.getAttribute('role')))

  const flagsOf = (region, parts, said) => {
    const flags = []
    const display = getComputedStyle(region).display
    if (!known.has(region) && region.getAttribute('role') !== 'alert') flags.push('region replaced')
    if (parts.size > 1) flags.push('several nodes')
    if (/flex|grid/.test(display) && region.children.length > 1) flags.push('flex')
    if (/[a-z]\d|\d[A-Z]/.test(said)) flags.push('words run together')
    if (said === lastSaid.get(region)) flags.push('same text')
    if ([...parts].some(part => part.nodeType === Node.ELEMENT_NODE &&
        (part.matches('time, a, button') || part.querySelector('time, a, button')))) {
      flags.push('more than text')
    }
    return flags
  }
  const speak = (region, parts) => {
    const heard = isAtomic(region) ? textOf(region) : [...parts].map(textOf).join(' ')
    const said = squeeze(heard)
    if (!said) return
    const flags = flagsOf(region, parts, said)
    lastSaid.set(region, said)
    known.add(region)
    announced.push({id: region.id, live: politeness(region), said, flags})
  }
  const collect = (changes, region, part) => {
    const parts = changes.get(region) || new Set()
    changes.set(region, parts.add(part))
  }
  const gather = (changes, node) => {
    if (!node.isConnected || isHidden(node)) return
    const region = regionOf(node)
    if (region && squeeze(textOf(node))) collect(changes, region, node)
    if (region || node.nodeType !== Node.ELEMENT_NODE) return
    // Regions that arrive inside what was added: silent in some readers, said in others.
    for (const inner of node.querySelectorAll(REGIONS)) {
      if (politeness(inner) !== 'off' && !isHidden(inner)) collect(changes, inner, inner)
    }
  }
  // Nothing is said in any browser when this happens, whatever the change of text beside it.
  const flipped = region => announced.push(
    {id: region.id, live: politeness(region), said: '', flags: ['politeness flipped']})
  const watch = () => {
    document.querySelectorAll(REGIONS).forEach(region => {
      known.add(region)
      lastSaid.set(region, squeeze(textOf(region)))
    })
    new MutationObserver(records => {
      const changes = new Map()
      for (const record of records) {
        if (record.type === 'attributes') flipped(record.target)
        else if (record.type === 'characterData') gather(changes, record.target)
        else record.addedNodes.forEach(node => gather(changes, node))
      }
      changes.forEach((parts, region) => speak(region, parts))
      document.querySelectorAll(REGIONS).forEach(region => known.add(region))
    }).observe(document, {
      subtree: true, childList: true, characterData: true, attributeFilter: ['aria-live']
    })
  }
  if (document.readyState === 'loading') document.addEventListener('DOMContentLoaded', watch)
  else watch()
})()
