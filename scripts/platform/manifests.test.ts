import { expect } from 'chai'
import type { Resource } from '../../src/core/object.ts'
import { validatingAdmissionPolicy, validatingAdmissionPolicyBinding } from '../../src/kube/builtin.ts'
import { FakeKubeClient } from '../../src/kube/fake.ts'
import { removeOtherPolicies } from './manifests.ts'

const ours = { 'app.kubernetes.io/part-of': 'freehold' }
const policy = ({ group, version, kind }: Resource, name: string, labels: Record<string, string> = ours) => ({
  apiVersion: `${group}/${version}`,
  kind,
  metadata: { name, labels },
})

describe('the policies of a data folder', () => {
  it('are those of the version that was started last: what another one had refuses nothing', async () => {
    const client = new FakeKubeClient()
    for (const resource of [validatingAdmissionPolicy, validatingAdmissionPolicyBinding]) {
      for (const name of ['freehold-kept', 'freehold-of-before']) client.seed(resource, policy(resource, name))
      client.seed(resource, policy(resource, 'freehold-of-somebody', {}))
    }
    const manifests = [validatingAdmissionPolicy, validatingAdmissionPolicyBinding].map((resource) =>
      policy(resource, 'freehold-kept'),
    )
    await removeOtherPolicies(client, manifests)
    for (const resource of [validatingAdmissionPolicy, validatingAdmissionPolicyBinding]) {
      const { items } = await client.list(resource)
      expect(items.map(({ metadata }) => metadata.name)).to.have.members(['freehold-kept', 'freehold-of-somebody'])
    }
  })
})
