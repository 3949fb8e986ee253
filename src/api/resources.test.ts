import { expect } from 'chai'
import { BOUNDARY, type ResourceCase } from '../../test/suites/resourceCase.ts'
import { resourceSuite } from '../../test/suites/resourceSuite.ts'
import { hostSuffixOf } from '../contracts/workloads.ts'
import { PlatformApp } from '../crds/apps.ts'
import { ContainerInstance } from '../crds/containerinstances.ts'
import { FunctionNamespace } from '../crds/functions.ts'
import { RESOURCE_KINDS } from '../crds/index.ts'
import { PlatformJob } from '../crds/jobs.ts'
import { ObjectStorageAccount } from '../crds/objectstorage.ts'
import { ComputePlan } from '../crds/plans.ts'
import { RelationalCluster } from '../crds/relational.ts'
import { SqlInstance } from '../crds/sql.ts'
import { StaticWebApp } from '../crds/staticwebapps.ts'
import { SecretVault } from '../crds/vaults.ts'
import { VectorCluster } from '../crds/vector.ts'

const SIZES = { cpuRequest: '1', cpuLimit: '2', memoryRequest: '2Gi', memoryLimit: '2Gi', storageSize: '20Gi' }
const plan =
  (family: string): NonNullable<ResourceCase['world']> =>
  (server) =>
    server.put(ComputePlan, `${family.toLowerCase()}-small`, { family, displayName: family, ...SIZES, isDefault: true })
const SITE = { components: [{ name: 'web', image: 'docker.io/library/nginx:1.29' }] }
const APP = { sourceKind: 'Image', image: 'docker.io/library/nginx:1.29' }
const PAGES = { image: 'docker.io/library/nginx:1.29' }
const JOB = { image: 'docker.io/library/busybox' }

const CASES: readonly ResourceCase[] = [
  {
    kind: VectorCluster,
    body: {},
    other: { replicas: 3 },
    scale: { minScale: 0, maxScale: 99 },
    patch: { body: { replicas: 2 }, shows: { replicas: 2 } },
    hosted: { enableIngress: true, ingressHost: `shop${hostSuffixOf(BOUNDARY, 'example.test')}` },
  },
  {
    kind: RelationalCluster,
    world: plan('Relational'),
    body: {},
    other: { replicas: 3 },
    scale: { minScale: 1, maxScale: 9 },
    patch: { body: { replicas: 2 }, shows: { replicas: 2 } },
  },
  {
    kind: SqlInstance,
    segment: 'sqlclusters',
    world: plan('Sql'),
    body: { engine: 'MariaDb' },
    other: { engine: 'MariaDb', tags: { team: 'books' } },
    patch: { body: { tags: { team: 'books' } }, shows: { tags: { team: 'books' } } },
  },
  {
    kind: SecretVault,
    body: {},
    other: { softDeleteRetentionDays: 60 },
    patch: { body: { tags: { team: 'books' } }, shows: { tags: { team: 'books' } } },
  },
  {
    kind: ObjectStorageAccount,
    body: {},
    other: { enablePublicAccess: true },
    patch: { body: { enablePublicAccess: true }, shows: { enablePublicAccess: true } },
  },
  {
    kind: ContainerInstance,
    world: plan('ContainerInstance'),
    body: SITE,
    other: { ...SITE, tags: { team: 'books' } },
    former: { components: [{ ...SITE.components[0], gracePeriodSeconds: 9_999 }] },
    patch: { body: { running: false }, shows: { running: false } },
    hosted: {
      components: [{ ...SITE.components[0], ports: [{ name: 'http', port: 80 }] }],
      isPublic: true,
      customDomains: ['shop.example.com'],
    },
  },
  {
    kind: PlatformApp,
    segment: 'apps',
    world: plan('App'),
    body: APP,
    other: { ...APP, tags: { team: 'books' } },
    patch: { body: { port: 3000 }, shows: { port: 3000 } },
    hosted: { ...APP, customDomains: ['shop.example.com'] },
  },
  {
    kind: StaticWebApp,
    segment: 'staticwebapps',
    world: (server) =>
      server.put(ComputePlan, 'container-nano', { family: 'ContainerInstance', displayName: 'Nano', ...SIZES }),
    body: PAGES,
    scale: { minScale: 0, maxScale: 10 },
    other: { ...PAGES, tags: { team: 'books' } },
    patch: { body: { isSinglePage: false }, shows: { isSinglePage: false } },
    hosted: { ...PAGES, customDomains: ['docs.example.com'] },
  },
  {
    kind: FunctionNamespace,
    world: plan('Function'),
    body: { runtime: 'nodejs' },
    other: { runtime: 'nodejs', maxConcurrency: 7 },
    patch: { body: { maxConcurrency: 7 }, shows: { maxConcurrency: 7 } },
    hosted: { runtime: 'nodejs', customDomains: ['calls.example.com'] },
  },
  {
    isBrief: true,
    kind: PlatformJob,
    segment: 'jobs',
    world: plan('Job'),
    body: JOB,
    other: { image: 'docker.io/library/python' },
  },
]

for (const given of CASES) resourceSuite(given)

describe('resources of a group', () => {
  it('are all covered by a case', () => {
    expect(CASES.map(({ kind }) => kind.kind).sort()).to.deep.equal(RESOURCE_KINDS.map(({ kind }) => kind).sort())
  })
})
