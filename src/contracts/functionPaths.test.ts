import { expect } from 'chai'
import { decodePath, stripQuery } from './functionPaths.ts'

describe('stripQuery and decodePath', () => {
  it('remove the query', () => expect(stripQuery('/a/b?c=/d')).to.equal('/a/b'))
  const unreadable = [
    '/a/../b',
    '/a/%2e%2E/b',
    '/./a',
    '//a',
    '/a\\b',
    '/a/..%2fb',
    '/a%2F..%2Fb',
    '/a/..%5cb',
    '/a/%2Fb',
  ]
  for (const path of [...unreadable, '/a%00', '/%', '/a#/../b', 'http://shop.example.com/a', '*'])
    it(`reject the ambiguous path ${path}`, () => expect(decodePath(path)).to.equal(undefined))
  const readable = { '/': '/', '/a/b': '/a/b', '/a..b': '/a..b', '/.well-known/x': '/.well-known/x', '/a%2Fb': '/a/b' }
  for (const [path, decoded] of Object.entries(readable))
    it(`decode ${path}`, () => expect(decodePath(path)).to.equal(decoded))
})
