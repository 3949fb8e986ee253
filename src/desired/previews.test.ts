import { expect } from 'chai'
import type { KubeObject } from '../core/object.ts'
import { PlatformApp } from '../crds/apps.ts'
import {
  isPreviewOf,
  MAX_PREVIEWS,
  PREVIEW_TTL_MS,
  type PreviewOwner,
  previewedBranches,
  previewOf,
} from './previews.ts'

const NOW = Date.UTC(2026, 0, 31)
const app = (spec: object = {}) =>
  ({
    apiVersion: PlatformApp.apiVersion,
    kind: PlatformApp.kind,
    metadata: { name: 'shop', namespace: 'shop-1', uid: 'u1' },
    spec: { branch: 'main', previewBranches: ['feature/*', 'next'], ...spec },
  }) as unknown as PreviewOwner
const head = (branch: string, daysAgo = 1, kind = 'Push') => ({
  kind,
  ref: kind === 'Tag' ? `refs/tags/${branch}` : `refs/heads/${branch}`,
  receivedAt: new Date(NOW - daysAgo * 86_400_000).toISOString(),
})

describe('previewedBranches', () => {
  const cases: [string, ReturnType<typeof head>[], object, string[]][] = [
    [
      'returns pushed branches that match a pattern',
      [head('feature/a'), head('next'), head('other')],
      {},
      ['feature/a', 'next'],
    ],
    ['returns nothing without a pattern', [head('feature/a')], { previewBranches: [] }, []],
    ['excludes the branch of the app', [head('main')], { previewBranches: ['*'] }, []],
    ['excludes tags and pull requests', [head('next', 1, 'Tag'), head('next', 1, 'PullRequest')], {}, []],
    [
      'excludes names that Git does not allow',
      [head('feature/../a'), head('feature/a.lock'), head('feature/#1')],
      {},
      ['feature/#1'],
    ],
    ['returns branches pushed within 7 days', [head('next', 8), head('feature/a', 6)], {}, ['feature/a']],
    [
      'returns the 10 branches pushed last',
      Array.from({ length: 12 }, (_, index) => head(`feature/${index}`, 5 - index / 4)),
      {},
      Array.from({ length: MAX_PREVIEWS }, (_, index) => `feature/${11 - index}`),
    ],
  ]
  for (const [title, heads, spec, expected] of cases)
    it(title, () => {
      const found = previewedBranches(app(spec), heads, NOW)
      expect(found.map(({ branch }) => branch)).to.deep.equal(expected)
    })

  it('ends a preview 7 days after the push', () => {
    const [{ endsAt } = { endsAt: 0 }] = previewedBranches(app(), [head('next', 2)], NOW)
    expect(endsAt).to.equal(NOW - 2 * 86_400_000 + PREVIEW_TTL_MS)
  })
})

describe('previewOf', () => {
  const owner = app({
    ...{ env: [{ name: 'A', value: 'b' }], customDomains: ['shop.example.com'], releaseCommand: 'migrate' },
    ...{ minReplicas: 2, maxReplicas: 5, replicas: 3, running: false, tags: { team: 'web' } },
  })
  const preview = previewOf(owner, 'feature/login')

  it('copies the settings of its owner, with one copy and the branch', () => {
    expect(preview.spec).to.deep.equal({
      ...{ branch: 'feature/login', env: [{ name: 'A', value: 'b' }], replicas: 1, running: true },
      tags: { team: 'web', preview: 'shop' },
    })
  })

  it('derives a name of at most 52 characters from owner and branch', () => {
    expect(preview.metadata.name).to.match(/^shop-[0-9a-f]{8}$/)
    const named = (name: string) => previewOf({ ...owner, metadata: { ...owner.metadata, name } }, 'next').metadata.name
    expect(named('a'.repeat(52))).to.have.length(52)
    expect(named(`${'a'.repeat(51)}b`), 'of another owner that begins like it').not.to.equal(named('a'.repeat(52)))
    expect(previewOf(owner, 'next').metadata.name).not.to.equal(preview.metadata.name)
  })

  it('labels a preview with the uid of its owner', () => {
    expect(isPreviewOf(preview, owner)).to.equal(true)
    const next = { ...owner, metadata: { ...owner.metadata, uid: 'u2' } } as KubeObject
    expect(isPreviewOf(preview, next)).to.equal(false)
    const bare = { ...preview, metadata: { ...preview.metadata, labels: {} } } as KubeObject
    expect(isPreviewOf(bare, owner)).to.equal(false)
  })
})
