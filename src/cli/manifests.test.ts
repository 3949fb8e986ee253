import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { expect } from 'chai'
import { pathOf, RESOURCE_KINDS } from '../client/index.ts'
import { groupNamespace } from '../core/names.ts'
import { deriveCollections, type Target } from './collections.ts'
import { parseManifests, planManifest } from './manifests.ts'

const BOUNDARY = '5d0f8a52-3c1e-4b7a-9f60-2e8c41d7b391'
const collections = deriveCollections()
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

describe('planManifest', () => {
  const cases: [string, string, { boundary?: string; group?: string }, string[] | RegExp][] = [
    [
      'places an object in the group of its namespace, not in the default group',
      vector(`{name: products, namespace: ${groupNamespace(BOUNDARY, 'search')}}`),
      { boundary: BOUNDARY, group: 'other' },
      [`PUT ${ITEM} | POST ${ITEM}`],
    ],
    [
      'places an object without a namespace in the given boundary and group',
      vector('{name: products}'),
      { boundary: BOUNDARY, group: 'search' },
      [`PUT ${ITEM} | POST ${ITEM}`],
    ],
    [
      'only changes a boundary with a name',
      `{apiVersion: freehold.dev/v1alpha1, kind: Boundary, metadata: {name: ${BOUNDARY}}, spec: {displayName: A}}`,
      {},
      [`PATCH /boundaries/${BOUNDARY} | -`],
    ],
    [
      'only creates a boundary without a name',
      '{apiVersion: freehold.dev/v1alpha1, kind: Boundary, metadata: {}, spec: {displayName: A}}',
      { boundary: BOUNDARY },
      ['- | POST /boundaries'],
    ],
    [
      'reads the boundary of a group from its namespace',
      `{apiVersion: freehold.dev/v1alpha1, kind: ResourceGroup, metadata: {name: search, namespace: boundary-${BOUNDARY}}}`,
      {},
      [`PATCH /boundaries/${BOUNDARY}/resourcegroups/search | POST /boundaries/${BOUNDARY}/resourcegroups/search`],
    ],
    [
      'rejects a namespace of another boundary',
      vector('{name: products, namespace: search-0123456789}'),
      { boundary: BOUNDARY },
      /not that of a group in boundary/,
    ],
    [
      'asks for --boundary if there is only a namespace',
      vector('{name: products, namespace: s-0123456789}'),
      {},
      /--boundary/,
    ],
    [
      'refers administrators to --kubeconfig for the namespace of the platform',
      vector('{name: products, namespace: freehold-system}'),
      { boundary: BOUNDARY },
      /is in the namespace of the platform: .*--kubeconfig/,
    ],
    [
      'rejects an object without a group',
      vector('{name: products}'),
      { boundary: BOUNDARY },
      /^VectorCluster "products" cannot be placed: --group is missing\.$/,
    ],
    ['rejects a kind that REST cannot write', '{apiVersion: v1, kind: Secret, metadata: {name: x}}', {}, /kubectl/],
    [
      'rejects another version of a kind',
      vector('{name: x}').replace('v1alpha1', 'v9'),
      {},
      /cannot be written by REST/,
    ],
    ['rejects an invalid document with its number', 'a: 1', {}, /^a.yaml, document 1 is not a manifest/],
    [
      'names all invalid documents in one error',
      `a: 1\n---\n${vector('{name: x}')}\n---\nb: 2\n`,
      {},
      /^a.yaml, document 1 is not .*\na.yaml, document 3 is not .*$/,
    ],
    [
      'rejects an object without metadata.name',
      vector('{}'),
      { boundary: BOUNDARY, group: 'search' },
      /^VectorCluster needs a metadata\.name\.$/,
    ],
    [
      'rejects an invalid name',
      vector('{name: DD_6}'),
      { boundary: BOUNDARY, group: 'search' },
      /^VectorCluster "DD_6": "DD_6" is not a valid name/,
    ],
    [
      'names the command that creates a kind of subresource',
      '{apiVersion: compute.freehold.dev/v1alpha1, kind: ServerlessFunction, metadata: {name: x}}',
      { boundary: BOUNDARY, group: 'search' },
      /cannot be written by REST from a manifest \(`freehold create functions` makes one\)/,
    ],
    ['rejects text that is not YAML', 'a: [', {}, /a.yaml is not YAML/],
    ['returns nothing for empty documents', '---\n# nothing\n---\n', {}, []],
  ]
  for (const [what, text, defaults, expected] of cases) {
    it(what, () => {
      if (expected instanceof RegExp) expect(() => planned(text, defaults)).to.throw(expected)
      else expect(planned(text, defaults)).to.deep.equal(expected)
    })
  }

  it('creates every kind that REST creates by name in a group', () => {
    const kinds = RESOURCE_KINDS.filter((each) => each.placement === 'group' && 'collection' in each)
    const byName = kinds.filter((each) =>
      collections.some(({ routes }) =>
        routes.some(
          ({ verb, path }) =>
            verb === 'create' &&
            'collection' in each &&
            path.endsWith(`/{resourceGroupName}/resources/${each.collection}/{${path.split('{').at(-1)}`),
        ),
      ),
    )
    for (const { kind, apiVersion } of byName) {
      const text = `{apiVersion: ${apiVersion}, kind: ${kind}, metadata: {name: one}}`
      expect(planned(text, { boundary: BOUNDARY, group: 'g' })[0], kind).to.match(/ \| POST .*\/one$/)
    }
    expect(byName.map(({ kind }) => kind)).to.include.members([
      'SqlInstance',
      'PlatformJob',
      'PlatformApp',
      'VectorCluster',
    ])
  })

  for (const { kind, apiVersion, ...more } of RESOURCE_KINDS) {
    it(`places ${kind} or says why it cannot`, () => {
      const text = `{apiVersion: ${apiVersion}, kind: ${kind}, metadata: {name: ${BOUNDARY}}}`
      let said = ''
      try {
        planned(text, { boundary: BOUNDARY, group: 'g' })
      } catch (error) {
        said = (error as Error).message
      }
      const [, collection] = /freehold create (\S+)`/.exec(said) ?? []
      expect(said).to.match(/^$|cannot be written by REST|cannot be placed/)
      if (collection !== undefined) expect(collection).to.equal('collection' in more ? more.collection : undefined)
    })
  }

  it('places the examples', () => {
    const root = resolve(import.meta.dirname, '../../examples')
    const files = ['10-boundary/acme.yaml', '20-group/search.yaml', '30-vector/products.yaml']
    const text = files.map((file) => readFileSync(resolve(root, file), 'utf8')).join('\n---\n')
    expect(planned(text, { boundary: BOUNDARY })).to.have.lengthOf(3)
  })
})

describe('parseManifests with an exported object', () => {
  const metadata = {
    ...{ name: 'products', namespace: 'search-0123456789', labels: { team: 'search', 'freehold.dev/a': 'b' } },
    annotations: {
      note: 'ours',
      'freehold.dev/incarnation': 'x',
      'kubectl.kubernetes.io/last-applied-configuration': '{}',
    },
    ...{ resourceVersion: '7', generation: 2, creationTimestamp: '2026-11-29T00:00:00Z', managedFields: [{}] },
    ...{ finalizers: ['freehold.dev/teardown'], ownerReferences: [{ uid: 'y' }] },
  }
  const document = (more: object) => {
    const whole = { apiVersion: 'data.freehold.dev/v1alpha1', kind: 'VectorCluster', spec: { replicas: 1 } }
    const text = JSON.stringify({ ...whole, metadata: { ...metadata, ...more }, status: { phase: 'Available' } })
    return parseManifests(text, 'a.json')[0]?.document
  }

  it('removes what the platform and the API server wrote', () => {
    expect(document({ uid: 'z' })).to.deep.equal({
      ...{ apiVersion: 'data.freehold.dev/v1alpha1', kind: 'VectorCluster', spec: { replicas: 1 } },
      metadata: {
        ...{ name: 'products', namespace: 'search-0123456789' },
        ...{ labels: { team: 'search' }, annotations: { note: 'ours' } },
      },
    })
  })

  it('keeps an object without a uid as it is', () => {
    expect(document({})).to.deep.include({ metadata, status: { phase: 'Available' } })
  })
})
