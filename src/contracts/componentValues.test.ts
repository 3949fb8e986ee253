import { expect } from 'chai'
import { declaredValues, missingValues, neededValues, shownValues, valueObstacle } from './componentValues.ts'

const needed = (key: string, more: object = {}) => ({
  ...{ key, title: key, type: 'String' as const, isSecret: false, description: '' },
  ...more,
})
const component = {
  metadata: { name: 'shop' },
  spec: {
    values: { auth: { user: 'root' }, replicas: 1 },
    required: [
      needed('auth.password', { isSecret: true }),
      needed('replicas', { type: 'Integer', default: '2' }),
      needed('isOpen', { type: 'Boolean' }),
    ],
  },
}
const release = { spec: { requiredValues: ['license', 'replicas'] } }

describe('declaredValues, shownValues, missingValues, neededValues and valueObstacle', () => {
  it('return the declared values with defaults of required ones', () => {
    expect(declaredValues(component)).to.deep.equal({ auth: { user: 'root' }, replicas: 2 })
  })

  it('return the values that the chart receives, with secrets masked', () => {
    const held = { 'shop.auth.password': 'hush', 'shop.isOpen': 'true', 'shop.license': 'x', 'other.isOpen': 'false' }
    expect(shownValues(component, release, held)).to.deep.equal({
      ...{ auth: { user: 'root', password: '***' }, replicas: 2 },
      ...{ isOpen: true, license: '***' },
    })
    expect(shownValues(component, undefined, {})).to.deep.equal({ auth: { user: 'root' }, replicas: 2 })
  })

  it('return required values that are neither set nor have a default', () => {
    expect(missingValues(component, release, { 'shop.isOpen': 'true' })).to.deep.equal(['auth.password', 'license'])
  })

  it('treat a value that only a release requires as secret', () => {
    expect(neededValues(component, release).at(-1)).to.include({ key: 'license', isSecret: true })
  })

  const texts: [text: string, type: 'String' | 'Integer' | 'Boolean', trouble: string | undefined][] = [
    ['', 'String', 'must not be empty'],
    ['anything, and = more', 'String', undefined],
    ['yes', 'Boolean', 'must be true or false'],
    ['-12', 'Integer', undefined],
    ['1e9', 'Integer', 'must be a whole number'],
  ]
  for (const [text, type, obstacle] of texts)
    it(`${obstacle === undefined ? 'accept' : 'reject'} "${text}" as ${type}`, () =>
      expect(valueObstacle(text, type)).to.equal(obstacle))
})
