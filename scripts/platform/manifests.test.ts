import { expect } from 'chai'
import type { Resource } from '../../src/core/object.ts'
import {
  flowSchema,
  priorityLevelConfiguration,
  validatingAdmissionPolicy,
  validatingAdmissionPolicyBinding,
} from '../../src/kube/builtin.ts'
import { FakeKubeClient } from '../../src/kube/fake.ts'
import { removeOthers } from './manifests.ts'

const ours = { 'app.kubernetes.io/part-of': 'freehold' }
const policy = ({ group, version, kind }: Resource, name: string, labels: Record<string, string> = ours) => ({
  apiVersion: `${group}/${version}`,
  kind,
  metadata: { name, labels },
})

const RESOURCES = [validatingAdmissionPolicy, validatingAdmissionPolicyBinding, flowSchema, priorityLevelConfiguration]

describe('removeOthers', () => {
  it('removes policies and levels of the platform that are not in the manifests, and no others', async () => {
    const client = new FakeKubeClient()
    for (const resource of RESOURCES) {
      for (const name of ['freehold-kept', 'freehold-of-before']) client.seed(resource, policy(resource, name))
      client.seed(resource, policy(resource, 'freehold-of-somebody', {}))
    }
    const manifests = RESOURCES.map((resource) => policy(resource, 'freehold-kept'))
    await removeOthers(client, manifests)
    for (const resource of RESOURCES) {
      const { items } = await client.list(resource)
      expect(items.map(({ metadata }) => metadata.name)).to.have.members(['freehold-kept', 'freehold-of-somebody'])
    }
  })
})
