import { expect } from 'chai'
import { IDENTITY_PATH } from '../contracts/managedIdentities.ts'
import { FunctionNamespace, ServerlessFunction } from '../crds/functions.ts'
import { functionCopies } from './functions.ts'

const object: ServerlessFunction = {
  apiVersion: ServerlessFunction.apiVersion,
  kind: ServerlessFunction.kind,
  metadata: { name: 'shop.orders', namespace: 'g-1', uid: 'u' },
  spec: ServerlessFunction.spec.parse({ namespaceName: 'shop', functionName: 'orders', handler: 'index' }),
}
const plan = {
  cpuRequest: '250m',
  cpuLimit: '1',
  memoryRequest: '512Mi',
  memoryLimit: '1Gi',
  storageSize: undefined,
  storageClass: '',
  replicas: 1,
}
const functionNamespace = { spec: FunctionNamespace.spec.parse({ runtime: 'nodejs' }) }
const given = {
  object,
  functionNamespace,
  plan,
  image: 'orders:1',
  environment: [],
  valuesVersion: undefined,
  registryHost: undefined,
}

describe('functionCopies', () => {
  const mounted = (identitySecret: string | undefined) => {
    const { spec } = functionCopies({ ...given, identitySecret }) as { spec: unknown }
    const { template } = spec as { template: { spec: { volumes: object[]; containers: { volumeMounts: object[] }[] } } }
    return [template.spec.volumes, template.spec.containers.flatMap(({ volumeMounts }) => volumeMounts)]
  }

  it('mounts the credentials of the namespace identity read-only', () => {
    const name = 'freehold--identity'
    expect(mounted('mi-1')).to.deep.equal([
      [{ name, secret: { secretName: 'mi-1', defaultMode: 0o440 } }],
      [{ name, mountPath: IDENTITY_PATH, readOnly: true }],
    ])
  })

  it('mounts nothing without an identity', () => {
    expect(mounted(undefined)).to.deep.equal([[], []])
  })

  it('asks the registry each time for an image of another group', () => {
    const image = 'own.test/22222222-2222-4222-8222-222222222222/shop/functions/orders:1'
    const { spec } = functionCopies({
      ...given,
      image,
      registryHost: 'own.test',
      identitySecret: undefined,
    }) as object as {
      spec: { template: { spec: { containers: object[] } } }
    }
    expect(spec.template.spec.containers[0]).to.include({ image, imagePullPolicy: 'Always' })
  })

  it('scales to 0 in a stopped namespace and sets the restart annotation', () => {
    const made = (spec: object) => {
      const busy = { ...object, status: { desiredReplicas: 2 } as ServerlessFunction['status'] }
      const copies = functionCopies({
        ...given,
        object: busy as ServerlessFunction,
        functionNamespace: { spec: { ...functionNamespace.spec, ...spec } },
        identitySecret: undefined,
      }) as unknown as { spec: { replicas: number; template: { metadata: { annotations?: object } } } }
      return [copies.spec.replicas, copies.spec.template.metadata.annotations ?? {}]
    }
    expect(made({})).to.deep.equal([2, {}])
    expect(made({ running: false })).to.deep.equal([0, {}])
    const restartedAt = '2026-01-01T00:00:00Z'
    expect(made({ restartedAt })).to.deep.equal([2, { 'freehold.dev/restarted-at': restartedAt }])
  })
})
