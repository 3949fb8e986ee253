import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import { loadAll } from 'js-yaml'
import { JOB_STATES } from '../../src/contracts/jobs.ts'
import { entryName } from '../../src/contracts/vaults/names.ts'
import { boundaryNamespace, groupNamespace } from '../../src/core/names.ts'
import type { KubeObject } from '../../src/core/object.ts'
import { Boundary } from '../../src/crds/boundaries.ts'
import { DEFAULT_PLANS } from '../../src/crds/defaultPlans.ts'
import type { AnyKind } from '../../src/crds/define.ts'
import { KINDS } from '../../src/crds/index.ts'
import { RelationalCluster } from '../../src/crds/relational.ts'
import { ResourceGroup } from '../../src/crds/resourcegroups.ts'
import { SecretVault, VaultEntry } from '../../src/crds/vaults.ts'
import { VectorCluster } from '../../src/crds/vector.ts'

const folder = join(import.meta.dirname, '../../examples')
const steps = readdirSync(folder, { withFileTypes: true })
  .filter((entry) => entry.isDirectory())
  .map(({ name }) => name)
  // Steps start with a number; other tests cover the rest.
  .filter((name) => /^\d/.test(name))
  .sort()
const objects = steps.flatMap((step) =>
  readdirSync(join(folder, step)).flatMap(
    (file) => loadAll(readFileSync(join(folder, step, file), 'utf8')) as KubeObject[],
  ),
)

function kindOf(object: KubeObject): AnyKind | undefined {
  return KINDS.find(({ kind, apiVersion }) => kind === object.kind && apiVersion === object.apiVersion)
}

function one(kind: { kind: string }): KubeObject {
  const found = objects.find((object) => object.kind === kind.kind)
  if (found === undefined) throw new Error(`No example of a ${kind.kind}.`)
  return found
}

describe('docs/gitops.md', () => {
  it('names only states of jobs that exist', () => {
    const page = readFileSync(join(folder, '../docs/gitops.md'), 'utf8')
    const named = [...page.matchAll(/status\.state (?:==|in) ([^\n]+)/g)].flatMap(([, words = '']) =>
      [...words.matchAll(/'(\w+)'/g)].map(([, state]) => state),
    )
    expect(named).to.have.length.greaterThan(1)
    expect(JOB_STATES).to.include.members(named)
  })
})

describe('examples', () => {
  it('are all applied and deleted by the commands of their README', () => {
    const page = readFileSync(join(folder, 'README.md'), 'utf8')
    const [applied = '', removed = ''] = page.split('To take all of it away')
    const namedIn = (text: string) => steps.filter((step) => text.includes(step))
    expect(namedIn(applied)).to.deep.equal(steps)
    expect(namedIn(removed)).to.deep.equal(steps)
  })

  it('are these steps with these kinds', () => {
    const storage = ['ObjectStorageAccount', 'AccountBucket', 'ObjectAccessKey', 'PlatformJob']
    expect(steps).to.deep.equal([
      '10-boundary',
      '20-group',
      '30-vector',
      '31-sql',
      '40-relational',
      '40-vault',
      '50-objectstorage',
      '60-jobs',
      '61-blueprints',
      '70-containerinstances',
      '71-staticwebapps',
      '72-apps',
      '80-sources',
      '81-blueprintsources',
      '90-clusters',
      '90-functions',
      '91-crosslink',
      '91-platformbackups',
      '92-components',
    ])
    expect(objects.map(({ kind }) => kind)).to.deep.equal([
      'Boundary',
      'ResourceGroup',
      'VectorCluster',
      'SqlInstance',
      'RelationalCluster',
      'SecretVault',
      'Secret',
      'VaultEntry',
      ...storage,
      'BlueprintTemplate',
      'ContainerInstance',
      'StaticWebApp',
      'PlatformApp',
      'Secret',
      'DeploymentSource',
      'BlueprintSource',
      'PlatformCluster',
      'BoundaryProjection',
      'FunctionNamespace',
      'ServerlessFunction',
      'BoundaryCrosslink',
      'Secret',
      'PlatformBackupSettings',
      'PlatformComponent',
    ])
  })

  it('name a VaultEntry after its vault and its secret', () => {
    const { metadata, spec } = one(VaultEntry)
    const { vaultName, secretName } = spec as { vaultName: string; secretName: string }
    expect(metadata.name).to.equal(entryName(vaultName, secretName))
    expect(vaultName).to.equal(one(SecretVault).metadata.name)
  })

  for (const object of objects.filter((each) => kindOf(each) !== undefined)) {
    it(`contain a valid ${object.kind}`, () => {
      const kind = kindOf(object)
      const spec = kind?.spec.parse(object.spec)
      const broken = (kind?.rules ?? []).filter(
        ({ cel, test }) => !cel.includes('oldSelf') && !test(spec as never, spec as never),
      )
      expect(broken.map(({ message }) => message)).to.deep.equal([])
    })
  }

  it('use the namespaces of their boundary and group', () => {
    const boundaryId = one(Boundary).metadata.name
    const group = one(ResourceGroup).metadata
    expect(group.namespace).to.equal(boundaryNamespace(boundaryId))
    for (const kind of [VectorCluster, RelationalCluster]) {
      expect(one(kind).metadata.namespace).to.equal(groupNamespace(boundaryId, group.name))
    }
  })

  it('use default plans, and the steps and the namespace of the README', () => {
    for (const kind of [VectorCluster, RelationalCluster]) {
      const { computePlan = '' } = one(kind).spec as { computePlan?: string }
      expect(Object.keys(DEFAULT_PLANS)).to.include(computePlan)
    }
    const readme = readFileSync(join(folder, 'README.md'), 'utf8')
    for (const step of steps)
      expect(readme, 'no command applies it').to.match(new RegExp(`(for step in|kubectl apply -f).*${step}`))
    expect(readme).to.contain(`vc-products.${one(VectorCluster).metadata.namespace}.svc:6333`)
  })
})
