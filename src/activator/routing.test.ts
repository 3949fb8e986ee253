import { expect } from 'chai'
import { TriggerField } from '../crds/functionFields.ts'
import { findTrigger, findUnambiguousTrigger, type RoutableFunction, stripPort } from './routing.ts'

const callable = (key: string, paths: string[], held = paths): RoutableFunction => ({
  key,
  triggers: paths.map((path, at) => TriggerField.parse({ name: `t${at}`, kind: 'Http', path })),
  paths: held,
})

describe('findTrigger', () => {
  const functions = [
    callable('root', ['/']),
    callable('orders', ['/orders']),
    callable('new', ['/orders/new']),
    callable('late', ['/taken'], []),
  ]
  const cases: [sentence: string, method: string, path: string, expected: string][] = [
    ['finds the trigger of the path', 'GET', '/orders', 'orders'],
    ['finds the trigger of a parent path', 'GET', '/orders/7', 'orders'],
    ['finds the trigger with the longest path', 'POST', '/orders/new', 'new'],
    ['ignores a trigger whose path is a prefix but no parent', 'GET', '/ordersfoo', 'root'],
    ['ignores a function that does not hold its path', 'GET', '/taken', 'root'],
    ['returns the allowed methods for another method', 'DELETE', '/orders', 'method GET, POST'],
  ]
  for (const [sentence, method, path, expected] of cases) {
    it(sentence, () => {
      const found = findTrigger(functions, method, path)
      const said =
        found.kind === 'found' ? found.key : found.kind === 'method' ? `method ${found.allowed.join(', ')}` : 'none'
      expect(said).to.equal(expected)
    })
  }
  it('returns none if no trigger has the path', () =>
    expect(findTrigger([callable('orders', ['/orders'])], 'GET', '/x').kind).to.equal('none'))
})

describe('stripPort and findUnambiguousTrigger', () => {
  it('remove the port of a host and lower its case', () =>
    expect(stripPort('Shop.Example.com:8443')).to.equal('shop.example.com'))
  it('remove the port of an IPv6 address', () => expect(stripPort('[::1]:80')).to.equal('[::1]'))
  const guarded = [callable('shop', ['/', '/admin'])]
  for (const path of ['/%61dmin', '/admin%2Fusers', '/x/..%2fadmin'])
    it(`return ambiguous for ${path}`, () =>
      expect(findUnambiguousTrigger(guarded, 'GET', path).kind).to.equal('ambiguous'))
  for (const path of ['/admin/a%2Fb', '/a%20b', '/caf%C3%A9'])
    it(`find the trigger of ${path}`, () => expect(findUnambiguousTrigger(guarded, 'GET', path).kind).to.equal('found'))
})
