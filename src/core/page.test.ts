import { expect } from 'chai'
import { escapeHtml, redirectPage } from './page.ts'

describe('a page that leads on', () => {
  it('leads to exactly that address, whatever it holds', () => {
    const url = 'https://login.example.com/?a=$&b=$`&c=$\'&d=$$"><script>'
    const [, address] = /content="0;url=([^"]*)"/.exec(redirectPage(url, 'Sign in', '').html) ?? []
    expect(address).to.equal(escapeHtml(url))
  })
})
