import { expect } from 'chai'
import { escapeHtml, page, redirectPage } from './page.ts'

describe('redirectPage', () => {
  it('redirects to exactly the given URL, escaped', () => {
    const url = 'https://login.example.com/?a=$&b=$`&c=$\'&d=$$"><script>'
    const [, address] = /content="0;url=([^"]*)"/.exec(redirectPage(url, 'Sign in', '').html) ?? []
    expect(address).to.equal(escapeHtml(url))
  })
})

describe('page', () => {
  const schemes = [...page('', '').html.matchAll(/:root\{([^}]*)\}/g)].map(([, text = '']) =>
    Object.fromEntries(text.split(';').map((pair) => pair.split(':') as [string, string])),
  )
  /** WCAG 2.2: 4.5 for text, 3 for the borders of fields and the focus. */
  const pairs = [
    ['--ink', '--card', 4.5],
    ['--soft', '--card', 4.5],
    ['--bad', '--card', 4.5],
    ['--go', '--card', 4.5],
    ['--on', '--go', 4.5],
    ['--line', '--card', 3],
  ] as const
  for (const [index, scheme] of ['light', 'dark'].entries())
    for (const [front, ground, least] of pairs)
      it(`has a sufficient contrast of ${front} on ${ground}: ${scheme}`, () => {
        const of = (name: string) => luminance(schemes[index]?.[name] ?? '')
        const [bright, dim] = [of(front), of(ground)].sort((one, other) => other - one) as [number, number]
        expect((bright + 0.05) / (dim + 0.05)).to.be.at.least(least)
      })
})

/** WCAG 2.2, relative luminance of `#rgb` or `#rrggbb`. */
function luminance(color: string): number {
  const digits = color.slice(1)
  const channels = digits.length === 3 ? [...digits].map((digit) => digit + digit) : (digits.match(/../g) ?? [])
  expect(channels, color).to.have.length(3)
  const [red = 0, green = 0, blue = 0] = channels.map((channel) => {
    const share = Number.parseInt(channel, 16) / 255
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4
  })
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue
}
