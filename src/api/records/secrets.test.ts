import { expect } from 'chai'
import { OWNER_INCARNATION_ANNOTATION } from '../../core/labels.ts'
import type { KubeObject } from '../../core/object.ts'
import { secretData } from '../../core/secretData.ts'
import { secret } from '../../kube/builtin.ts'
import { FakeKubeClient } from '../../kube/fake.ts'
import { kubeSecrets, kubeSecretWriter } from './secrets.ts'

const FAR = '4a7f8a52-7a4e-4b52-9a55-0d6c8f3f9b77'
const REF = { namespace: 'shop', name: 'sqli-books-license' }
const OWNER = { apiVersion: 'x/v1', kind: 'SqlInstance', name: 'books', uid: 'u1', labels: {}, incarnation: 'life' }

describe('kubeSecretWriter', () => {
  const setUp = () => {
    const [own, other] = [new FakeKubeClient(), new FakeKubeClient()]
    const clientOf = (clusterId: string) => (clusterId === FAR ? other : own)
    return { own, other, reader: kubeSecrets(own, clientOf), writer: kubeSecretWriter(own, clientOf) }
  }
  const metadataOf = async (client: FakeKubeClient) => (await client.get<KubeObject>(secret, REF)).metadata

  it('sets an owner reference in the cluster of the owner', async () => {
    const { own, other, reader, writer } = setUp()
    await writer.put(REF, secretData({ key: 'a' }), OWNER)
    expect((await metadataOf(own)).ownerReferences?.map(({ uid }) => uid)).to.deep.equal(['u1'])
    expect(await reader.read(REF.namespace, REF.name)).to.deep.equal({ key: 'YQ==' })
    expect((await other.list(secret)).items).to.deep.equal([])
  })

  it('annotates the incarnation of the owner in another cluster, without an owner reference', async () => {
    const { own, other, reader, writer } = setUp()
    await writer.put(REF, secretData({ key: 'a' }), OWNER, FAR)
    const { ownerReferences, annotations } = await metadataOf(other)
    expect(ownerReferences).to.equal(undefined)
    expect(annotations).to.deep.equal({ [OWNER_INCARNATION_ANNOTATION]: 'life' })
    await writer.put(REF, secretData({ other: 'b' }), OWNER, FAR)
    expect(await reader.read(REF.namespace, REF.name, FAR)).to.deep.equal({ key: 'YQ==', other: 'Yg==' })
    expect((await own.list(secret)).items).to.deep.equal([])
  })
})
