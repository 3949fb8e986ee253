import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { expect } from 'chai'
import { pathOf } from '../client/index.ts'
import { groupNamespace } from '../core/names.ts'
import { collectionsOf, type Target } from './collections.ts'
import { parseManifests, planManifest } from './manifests.ts'

const BOUNDARY = '5d0f8a52-3c1e-4b7a-9f60-2e8c41d7b391'
const collections = collectionsOf()
const line = (target: Target | undefined) =>
  target === undefined ? '-' : `${target.route.method} ${pathOf(target.route.path, target.values)}`

function planned(text: string, defaults: { boundary?: string; group?: string } = {}): string[] {
  const given = { boundary: defaults.boundary, group: defaults.group }
  return parseManifests(text, 'a.yaml').map((found) => {
    const { change, create } = planManifest(found, collections, given)
    return `${line(change)} | ${line(create)}`
  })
}

const vector = (metadata: string) =>
  `{apiVersion: data.freehold.dev/v1alpha1, kind: VectorCluster, metadata: ${metadata}, spec: {replicas: 1}}`
const ITEM = `/boundaries/${BOUNDARY}/resourcegroups/search/resources/vectorclusters/products`

describe('manifests', () => {
  const cases: [string, string, { boundary?: string; group?: string }, string[] | RegExp][] = [
    [
      'in the namespace of a group stand in that group, whatever the default is',
      vector(`{name: products, namespace: ${groupNamespace(BOUNDARY, 'search')}}`),
      { boundary: BOUNDARY, group: 'other' },
      [`PUT ${ITEM} | POST ${ITEM}`],
    ],
    [
      'without a namespace stand where the options say',
      vector('{name: products}'),
      { boundary: BOUNDARY, group: 'search' },
      [`PUT ${ITEM} | POST ${ITEM}`],
    ],
    [
      'of a boundary with a name change it and never create it',
      `{apiVersion: freehold.dev/v1alpha1, kind: Boundary, metadata: {name: ${BOUNDARY}}, spec: {displayName: A}}`,
      {},
      [`PATCH /boundaries/${BOUNDARY} | -`],
    ],
    [
      'of a boundary without a name create it',
      '{apiVersion: freehold.dev/v1alpha1, kind: Boundary, metadata: {}, spec: {displayName: A}}',
      { boundary: BOUNDARY },
      ['- | POST /boundaries'],
    ],
    [
      'of a group take the boundary from the namespace',
      `{apiVersion: freehold.dev/v1alpha1, kind: ResourceGroup, metadata: {name: search, namespace: boundary-${BOUNDARY}}}`,
      {},
      [`- | POST /boundaries/${BOUNDARY}/resourcegroups/search`],
    ],
    [
      'in a namespace of another boundary are refused',
      vector('{name: products, namespace: search-0123456789}'),
      { boundary: BOUNDARY },
      /not that of a group in boundary/,
    ],
    [
      'in a namespace alone do not say which boundary',
      vector('{name: products, namespace: s-0123456789}'),
      {},
      /--boundary/,
    ],
    [
      'in the namespace of the platform are for administrators',
      vector('{name: products, namespace: freehold-system}'),
      { boundary: BOUNDARY },
      /is in the namespace of the platform: .*--kubeconfig/,
    ],
    [
      'without a place are refused',
      vector('{name: products}'),
      { boundary: BOUNDARY },
      /^VectorCluster "products" cannot be placed: --group is missing\.$/,
    ],
    [
      'of kinds that REST does not write are refused',
      '{apiVersion: v1, kind: Secret, metadata: {name: x}}',
      {},
      /kubectl/,
    ],
    ['of another version are refused', vector('{name: x}').replace('v1alpha1', 'v9'), {}, /cannot be written by REST/],
    ['that are invalid are refused with their number', 'a: 1', {}, /^a.yaml, document 1 is not a manifest/],
    [
      'that are invalid are told of all at once',
      `a: 1\n---\n${vector('{name: x}')}\n---\nb: 2\n`,
      {},
      /^a.yaml, document 1 is not .*\na.yaml, document 3 is not .*$/,
    ],
    [
      'without a name are refused by the field that is missing',
      vector('{}'),
      { boundary: BOUNDARY, group: 'search' },
      /^VectorCluster needs a metadata\.name\.$/,
    ],
    ['that are no YAML are refused with the line', 'a: [', {}, /a.yaml is not YAML/],
    ['that are empty hold nothing', '---\n# nothing\n---\n', {}, []],
  ]
  for (const [what, text, defaults, expected] of cases) {
    it(what, () => {
      if (expected instanceof RegExp) expect(() => planned(text, defaults)).to.throw(expected)
      else expect(planned(text, defaults)).to.deep.equal(expected)
    })
  }

  it('of the examples can all be placed', () => {
    const root = resolve(import.meta.dirname, '../../examples')
    const files = ['10-boundary/acme.yaml', '20-group/search.yaml', '30-vector/products.yaml']
    const text = files.map((file) => readFileSync(resolve(root, file), 'utf8')).join('\n---\n')
    expect(planned(text, { boundary: BOUNDARY })).to.have.lengthOf(3)
  })
})
