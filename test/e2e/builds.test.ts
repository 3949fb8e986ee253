import { randomUUID } from 'node:crypto'
import { expect } from 'chai'
import { builtDeployment } from '../../src/contracts/builds/labels.ts'
import { BUILD_NAMESPACE, buildName } from '../../src/contracts/builds/progress.ts'
import type { BuildRequest, BuildSettings } from '../../src/contracts/builds/request.ts'
import { cancelBuild, startBuild } from '../../src/controllers/builds.ts'
import type { KubeObject } from '../../src/core/object.ts'
import { type BuildJob, buildObjects, isHalfStarted } from '../../src/desired/builds/index.ts'
import { job, networkPolicy, secret } from '../../src/kube/builtin.ts'
import type { KubeClient } from '../../src/kube/client.ts'
import { isKubeError } from '../../src/kube/errors.ts'
import { makeBoundary, until } from '../worlds/platform.ts'
import { administrator } from '../worlds/tenant.ts'

const SETTINGS: BuildSettings = {
  image: 'builder.example.test/freehold-builder:1',
  isRegistryInsecure: false,
  networks: [],
  cpuLimit: '1',
  memoryLimit: '1Gi',
  diskLimit: '1Gi',
  diskRequest: '128Mi',
}

describe('builds in the cluster', () => {
  let client: KubeClient
  before(async () => {
    client = await administrator()
  })
  after(() => client?.close())

  async function requested(): Promise<BuildRequest> {
    const { id: boundaryId } = await makeBoundary()
    return {
      owner: { boundaryId, resourceGroup: 'shop', collection: 'apps', name: 'web' },
      deploymentId: randomUUID(),
      source: { kind: 'Git', url: 'https://git.example.test/web.git', branch: 'main' },
      recipe: { purpose: 'Service', rootPath: '/', port: 8080, environment: [], timeoutSeconds: 600 },
      target: { registry: 'registry.example.test', repository: `${boundaryId}/shop/apps/web`, tag: 'd', cache: 'main' },
    }
  }
  const placeOf = (request: BuildRequest) => ({ namespace: BUILD_NAMESPACE, name: buildName(builtDeployment(request)) })
  const jobOf = (request: BuildRequest) => client.get<BuildJob>(job, placeOf(request))

  it('creates a Job that the API server admits, and starts it once its Secret and policy exist', async () => {
    const request = await requested()
    await startBuild(client, request, SETTINGS)
    const made = await jobOf(request)
    expect(isHalfStarted(made)).to.equal(false)
    for (const resource of [secret, networkPolicy]) {
      const { metadata } = await client.get<KubeObject>(resource, placeOf(request))
      expect(metadata.ownerReferences?.[0]?.uid).to.equal(made.metadata.uid)
    }
  })

  it('completes a half-started build, and leaves a started one alone', async () => {
    const request = await requested()
    await client.create(job, buildObjects(request, SETTINGS).job)
    expect(isHalfStarted(await jobOf(request))).to.equal(true)
    await startBuild(client, request, SETTINGS)
    const { metadata } = await jobOf(request)
    await client.get(secret, placeOf(request))
    await startBuild(client, request, SETTINGS)
    expect((await jobOf(request)).metadata.uid).to.equal(metadata.uid)
  })

  it('deletes the Secret of a cancelled build, and accepts a second cancel', async () => {
    const request = await requested()
    await startBuild(client, request, SETTINGS)
    await cancelBuild(client, builtDeployment(request))
    await until('the Secret is deleted', () =>
      client.get(secret, placeOf(request)).then(
        () => false,
        (error: unknown) => isKubeError(error, 'NotFound'),
      ),
    )
    await cancelBuild(client, builtDeployment(request))
  })
})
