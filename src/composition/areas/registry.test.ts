import { expect } from 'chai'
import { messageOf } from '../../core/errors.ts'
import { KINDS } from '../../crds/index.ts'
import { FakeKubeClient } from '../../kube/fake.ts'
import { notifySecretOf, usesNow } from './registry.ts'

const REPOSITORY = '3d1f8a52-7a4e-4b52-9a55-0d6c8f3f9b01/shop/functionnamespaces/api'
const IMAGE = `registry.test/${REPOSITORY}:built`
/** Fields of a spec or a status in which a kind may name what it runs. */
const NAMING = ['image', 'imageName', 'servingImage', 'components', 'deploy', 'release']

describe('images in use', () => {
  const naming = KINDS.filter(
    ({ placement, spec, status }) =>
      placement === 'group' && NAMING.some((field) => field in spec.shape || field in status.shape),
  )

  it('are looked for in several kinds', () => {
    expect(naming.map(({ kind }) => kind)).to.include.members([
      'ServerlessFunction',
      'ContainerInstance',
      'PlatformJob',
    ])
  })

  for (const { kind, apiVersion, resource } of naming.filter((each) => each.kind !== 'DeploymentRecord'))
    it(`are those that a ${kind} names, whether or not a pod of it runs`, async () => {
      const client = new FakeKubeClient()
      client.seed(resource, {
        apiVersion,
        kind,
        metadata: { name: 'one', namespace: 'shop' },
        status: { image: IMAGE },
      })
      expect([...(await usesNow(client))(REPOSITORY).running.tags]).to.deep.equal(['built'])
    })
})

describe('the secret of the registry', () => {
  for (const [title, registryNotifySecretFile] of [
    ['is not configured', undefined],
    ['is empty', '/dev/null'],
  ] as const)
    it(`keeps the facade from starting where it ${title}`, async () => {
      const refused = await notifySecretOf({ registryNotifySecretFile }).catch(messageOf)
      expect(refused).to.include('registryUrl needs registryNotifySecretFile')
    })
})
