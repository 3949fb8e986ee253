import { expect } from 'chai'
import { TriggerField } from '../crds/functionFields.ts'
import { findTrigger, findUnambiguousTrigger, type RoutableFunction, stripPort } from './routing.ts'

const callable = (key: string, paths: string[], held = paths): RoutableFunction => ({
  key,
  triggers: paths.map((path, at) => TriggerField.parse({ name: `t${at}`, kind: 'Http', path })),
  paths: held,
})

describe('the trigger that a request means', () => {
  const functions = [
    callable('root', ['/']),
    callable('orders', ['/orders']),
    callable('new', ['/orders/new']),
    callable('late', ['/taken'], []),
  ]
  const cases: [sentence: string, method: string, path: string, expected: string][] = [
    ['is that of its path', 'GET', '/orders', 'orders'],
    ['is that of a path above', 'GET', '/orders/7', 'orders'],
    ['is that of the longest path', 'POST', '/orders/new', 'new'],
    ['is none of a path that only begins alike', 'GET', '/ordersfoo', 'root'],
    ['is none of a function that does not hold its path', 'GET', '/taken', 'root'],
    ['does not take another method', 'DELETE', '/orders', 'method GET, POST'],
  ]
  for (const [sentence, method, path, expected] of cases) {
    it(sentence, () => {
      const found = findTrigger(functions, method, path)
      const said =
        found.kind === 'found' ? found.key : found.kind === 'method' ? `method ${found.allowed.join(', ')}` : 'none'
      expect(said).to.equal(expected)
    })
  }
  it('is none where nothing serves the path', () =>
    expect(findTrigger([callable('orders', ['/orders'])], 'GET', '/x').kind).to.equal('none'))
})

describe('a request target', () => {
  it('has a host before its port', () => expect(stripPort('Shop.Example.com:8443')).to.equal('shop.example.com'))
  it('has an address of version 6 as host', () => expect(stripPort('[::1]:80')).to.equal('[::1]'))
  const guarded = [callable('shop', ['/', '/admin'])]
  for (const path of ['/%61dmin', '/admin%2Fusers', '/x/..%2fadmin'])
    it(`leads past no trigger as ${path}`, () =>
      expect(findUnambiguousTrigger(guarded, 'GET', path).kind).to.equal('ambiguous'))
  for (const path of ['/admin/a%2Fb', '/a%20b', '/caf%C3%A9'])
    it(`leads to one trigger as ${path}`, () =>
      expect(findUnambiguousTrigger(guarded, 'GET', path).kind).to.equal('found'))
})
