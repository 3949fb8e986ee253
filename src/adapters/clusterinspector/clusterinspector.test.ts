import { expect } from 'chai'
import type { KubeObject } from '../../core/object.ts'
import {
  clusterRole,
  configMap,
  customResourceDefinition,
  deployment,
  node,
  pod,
  resourceQuota,
} from '../../kube/builtin.ts'
import { certificate } from '../../kube/certmanager.ts'
import { FakeKubeClient } from '../../kube/fake.ts'
import { postgresqlCluster } from '../../kube/postgresql.ts'
import { veleroBackup, veleroBackupStorageLocation } from '../../kube/velero.ts'
import { kubeClusterInspector } from './client.ts'
import { driftOf } from './drift.ts'
import { databaseFacts, missingDefinitions, nodeFacts, workloadFacts } from './facts.ts'
import { FakeClusterInspector } from './fake.ts'
import type { ClusterInspector, InspectedComponent } from './port.ts'
import { lackingRules } from './roles.ts'

const WEB: InspectedComponent = {
  ...{ name: 'web', release: 'pcomp-web', namespace: 'web', definitions: ['webs.example.com'] },
  keys: { replicas: { isSecret: false }, password: { isSecret: true } },
}
const object = (kind: string, fields: object, metadata: object = {}): KubeObject =>
  ({ apiVersion: 'v1', kind, metadata: { name: 'x', namespace: 'web', ...metadata }, ...fields }) as KubeObject
const conditions = (type: string, status: string) => ({ conditions: [{ type, status }] })

function real(): { inspector: ClusterInspector; client: FakeKubeClient } {
  const client = new FakeKubeClient()
  const types = {
    ...{ node, pod, quota: resourceQuota, definition: customResourceDefinition, role: clusterRole },
    ...{ database: postgresqlCluster, certificate, backup: veleroBackup, backupLocation: veleroBackupStorageLocation },
    ...{ workloads: [deployment], rendered: [deployment, configMap] },
  }
  return {
    client,
    inspector: kubeClusterInspector({
      client,
      types,
      velero: 'velero',
      platformNamespace: 'freehold-system',
      roles: {},
    }),
  }
}

describe('ClusterInspector', () => {
  const looks: [string, () => ClusterInspector][] = [
    ['FakeClusterInspector', () => new FakeClusterInspector()],
    ['kubeClusterInspector', () => real().inspector],
  ]
  for (const [what, makeInspector] of looks)
    it(`returns a value or a reason for each fact (${what})`, async () => {
      const facts = await makeInspector().facts([WEB], 0)
      for (const [name, known] of Object.entries(facts))
        expect(Object.keys(known), name).to.deep.equal(['value' in known ? 'value' : 'unknown'])
      expect((await makeInspector().drift([])).items).to.deep.equal([])
      expect(
        await makeInspector().valueOf({ kind: 'Deployment', namespace: 'web', name: 'none', field: 'spec' }),
      ).to.equal(undefined)
    })

  it('reports a fact that it may not read as unknown', async () => {
    const { client, inspector } = real()
    client.fail('list', node, 'Forbidden')
    expect((await inspector.facts([], 0)).nodes).to.deep.equal({
      unknown: 'Nothing is known about nodes: this part of the platform may not read it.',
    })
  })

  it('does not hide its own errors', async () => {
    const { client, inspector } = real()
    client.fail('list', node, () => {
      throw new TypeError('ours')
    })
    const error = await inspector.facts([], 0).catch((caught: unknown) => caught)
    expect(error).to.be.instanceOf(TypeError)
  })
})

describe('facts from Kubernetes objects', () => {
  it('nodeFacts returns readiness, disk pressure and allocatable resources', () => {
    const status = { ...conditions('Ready', 'True'), allocatable: { cpu: '3500m', memory: '1Ki' } }
    expect(nodeFacts(object('Node', { status }))).to.deep.equal({
      ...{ isReady: true, isShortOfDisk: false, cpu: 3.5, memory: 1024 },
      name: 'x',
    })
    expect(nodeFacts(object('Node', {})).isReady).to.equal(false)
  })

  it('databaseFacts reports no primary during a switchover, and archiving only if a condition says so', () => {
    const status = { currentPrimary: 'a', targetPrimary: 'b', ...conditions('ContinuousArchiving', 'False') }
    expect(databaseFacts(object('Cluster', { status }))).to.deep.equal({
      name: 'web/x',
      hasPrimary: false,
      isArchiving: false,
    })
    expect(databaseFacts(object('Cluster', {})).isArchiving).to.equal(undefined)
  })

  it('workloadFacts reports a rollout as pending until all pods have the newest revision', () => {
    const of = (status: object) => workloadFacts(object('Deployment', { status }, { generation: 2 })).isPending
    expect(of({ observedGeneration: 1 })).to.equal(true)
    expect(of({ observedGeneration: 2, replicas: 2, updatedReplicas: 1 })).to.equal(true)
    expect(of({ observedGeneration: 2, replicas: 2, updatedReplicas: 2 })).to.equal(false)
  })

  it('missingDefinitions returns CRDs that are not established', () => {
    const definition = object('CustomResourceDefinition', { status: conditions('Established', 'True') }, { name: 'a' })
    expect(missingDefinitions(['b', 'a', 'b'], [definition])).to.deep.equal(['b'])
  })

  it('lackingRules compares rules however they are grouped', () => {
    const rule = (...verbs: string[]) => ({ apiGroups: ['a'], resources: ['b'], verbs })
    const role = object('ClusterRole', { rules: [rule('get'), rule('list')] })
    expect(lackingRules({ x: [rule('get', 'list')] }, [role])).to.deep.equal([])
    expect(lackingRules({ x: [rule('get', 'watch')], y: [] }, [role])).to.deep.equal([
      'x lacks 1 right',
      'ClusterRole y is missing',
    ])
  })
})

describe('driftOf', () => {
  const managedFields = [
    { manager: 'kubectl-edit', operation: 'Update', fieldsV1: { 'f:spec': { 'f:replicas': {}, 'f:password': {} } } },
  ]
  const annotations = {
    'lifecycle.freehold.dev/config-keys': '{"spec.replicas":"replicas","spec.password":"password"}',
  }
  const changed = (spec: object) => object('Deployment', { spec }, { managedFields, annotations })

  it('offers to adopt a field whose chart names the config key, and masks secrets', () => {
    const [password, replicas] = driftOf(WEB, changed({ replicas: 3, password: 's3cret' }))
    expect(replicas).to.deep.include({ field: 'spec.replicas', live: '3', manager: 'kubectl-edit' })
    expect(replicas?.adoption).to.deep.equal({ configKey: 'web.replicas', liveValue: '3', isSecret: false })
    expect(password?.adoption?.liveValue).to.match(/^sha256:/)
    expect(JSON.stringify(password)).not.to.include('s3cret')
    const [long] = driftOf(WEB, changed({ replicas: 3, password: 's3cret'.repeat(1000) }))
    expect(JSON.stringify(long)).not.to.include('s3cret')
  })

  it('offers no adoption of an object, of a value that is too long or of an unknown config key', () => {
    const adoptions = (component: InspectedComponent, spec: object) =>
      driftOf(component, changed(spec)).map((one) => one.adoption)
    expect(adoptions(WEB, { replicas: { a: 1 }, password: 'x'.repeat(2000) })).to.deep.equal([undefined, undefined])
    expect(adoptions({ ...WEB, keys: {} }, { replicas: 3, password: 'x' })).to.deep.equal([undefined, undefined])
  })
})
