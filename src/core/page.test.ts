import { expect } from 'chai'
import { escapeHtml, redirectPage } from './page.ts'

describe('redirectPage', () => {
  it('redirects to exactly the given URL, escaped', () => {
    const url = 'https://login.example.com/?a=$&b=$`&c=$\'&d=$$"><script>'
    const [, address] = /content="0;url=([^"]*)"/.exec(redirectPage(url, 'Sign in', '').html) ?? []
    expect(address).to.equal(escapeHtml(url))
  })
})
