import { once } from 'node:events'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { connect } from 'node:tls'
import { expect } from 'chai'
import { identityOf } from '../../scripts/controlplane/identity.ts'
import { type ControlPlane, startControlPlane } from '../../scripts/controlplane/index.ts'
import { type AdminClient, adminClient, waitUntil } from '../../scripts/controlplane/request.ts'
import { PATIENCE } from '../make/until.ts'

const PODS = 2

const statefulSet = {
  apiVersion: 'apps/v1',
  kind: 'StatefulSet',
  metadata: { name: 'store' },
  spec: {
    serviceName: 'store',
    replicas: PODS,
    podManagementPolicy: 'Parallel',
    selector: { matchLabels: { app: 'store' } },
    template: {
      metadata: { labels: { app: 'store' } },
      spec: { containers: [{ name: 'store', image: 'example.test/store:1' }] },
    },
    volumeClaimTemplates: [
      {
        metadata: { name: 'data' },
        spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } },
      },
    ],
  },
}

describe('startControlPlane', () => {
  let folder: string
  let controlPlane: ControlPlane
  let client: AdminClient

  const start = async () => {
    controlPlane = await startControlPlane({ folder, durable: false })
    client = await clientFor(await controlPlane.issueClientCertificate('administrator', ['system:masters']))
  }
  const clientFor = async (pair: { certPem: string; keyPem: string }) =>
    adminClient(controlPlane.apiServerUrl, { caPem: controlPlane.caPem, ...pair })
  const create = async (path: string, object: object) => {
    const { status, text } = await client.send('POST', path, object)
    expect(status, text).to.equal(201)
  }
  const get = async (path: string) => {
    const { status, text } = await client.send('GET', path)
    expect(status, text).to.equal(200)
    return JSON.parse(text)
  }
  const eventually = (what: string, check: () => Promise<boolean>) =>
    waitUntil(what, PATIENCE, check, controlPlane.failed)

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'freehold-e2e-'))
    await start()
  })
  after(async () => {
    await client?.close()
    await controlPlane?.stop()
    await rm(folder, { recursive: true, force: true })
  })

  it('starts an API server of the stated version, and lists simulated parts', async () => {
    expect((await client.send('GET', '/readyz')).text).to.equal('ok')
    expect(await get('/version')).to.include({ gitVersion: controlPlane.version, major: '1' })
    expect(controlPlane.simulated).to.deep.equal(['nodes', 'pods', 'volumes', 'load-balancers', 'relational-engine'])
  })

  it('runs a StatefulSet with volumes until it is ready', async () => {
    await create('/apis/apps/v1/namespaces/default/statefulsets', statefulSet)
    await eventually('a ready StatefulSet', async () => {
      const { status } = await get('/apis/apps/v1/namespaces/default/statefulsets/store')
      return status.readyReplicas === PODS
    })
    const claims = await get('/api/v1/namespaces/default/persistentvolumeclaims')
    expect(claims.items.map((claim: { status: { phase: string } }) => claim.status.phase)).to.deep.equal([
      'Bound',
      'Bound',
    ])
  })

  it('sets a pod Ready again after it was NotReady', async () => {
    const path = '/api/v1/namespaces/default/pods/store-0/status'
    // As the node controller writes it; suspending the machine is enough to cause it.
    const away = { type: 'Ready', status: 'False', lastTransitionTime: new Date().toISOString() }
    const pod = await get(path)
    pod.status.conditions = pod.status.conditions.map((condition: { type: string }) =>
      condition.type === away.type ? { ...condition, ...away } : condition,
    )
    expect(await client.send('PUT', path, pod)).to.have.property('status', 200)
    await eventually('the pod to be ready', async () => {
      const { status, metadata } = await get(path)
      const ready = status.conditions.find(({ type }: { type: string }) => type === away.type)
      return metadata.uid === pod.metadata.uid && ready.status === 'True'
    })
  })

  it('completes a Job', async () => {
    const template = { spec: { restartPolicy: 'Never', containers: [{ name: 'work', image: 'example.test/work:1' }] } }
    await create('/apis/batch/v1/namespaces/default/jobs', { metadata: { name: 'work' }, spec: { template } })
    await eventually('a finished Job', async () => {
      const { status } = await get('/apis/batch/v1/namespaces/default/jobs/work')
      return status.succeeded === 1
    })
  })

  it('gives a Service of type LoadBalancer an address of the documentation range', async () => {
    const spec = { type: 'LoadBalancer', selector: { app: 'store' }, ports: [{ port: 80 }] }
    await create('/api/v1/namespaces/default/services', { metadata: { name: 'front' }, spec })
    await eventually('an address', async () => {
      const { status } = await get('/api/v1/namespaces/default/services/front')
      return /^203\.0\.113\.\d+$/.test(status.loadBalancer.ingress?.[0]?.ip)
    })
  })

  it('stores Secrets encrypted, and admits only its own client certificates to etcd', async () => {
    await create('/api/v1/namespaces/default/secrets', {
      metadata: { name: 'quiet' },
      stringData: { word: 'pa55phrase' },
    })
    const { etcd, etcdHttp } = JSON.parse(await readFile(join(folder, 'ports.json'), 'utf8'))
    const read = (name: string) => readFile(join(folder, 'pki', name), 'utf8')
    const [caPem, certPem, keyPem] = await Promise.all([
      read('etcd-ca.crt'),
      read('etcd-client.crt'),
      read('etcd-client.key'),
    ])
    const server = `https://127.0.0.1:${etcdHttp}`
    const body = { key: Buffer.from('/registry/secrets/default/quiet').toString('base64') }

    const inside = adminClient(server, { caPem, certPem, keyPem })
    const stored = JSON.parse((await inside.send('POST', '/v3/kv/range', body)).text)
    await inside.close()
    const value = Buffer.from(stored.kvs[0].value, 'base64').toString('latin1')
    expect(value).to.match(/^k8s:enc:secretbox:v1:key1:/)
    expect(value).to.not.include('pa55phrase').and.not.include('quiet')

    const { certPem: cert, keyPem: key } = await controlPlane.issueClientCertificate('administrator', [
      'system:masters',
    ])
    for (const port of [etcd, etcdHttp]) {
      const socket = connect({ host: '127.0.0.1', port, ca: caPem, cert, key })
      const [refusal] = await once(socket.resume(), 'close').catch((error: Error) => [error])
      expect(refusal, `port ${port}`).to.be.an('error').with.property('code').that.matches(/ALERT/)
    }
  })

  it('gives a client certificate only the rights of its groups', async () => {
    const stranger = await clientFor(await controlPlane.issueClientCertificate('stranger'))
    const { status } = await stranger.send('GET', '/api/v1/namespaces/default/secrets/quiet')
    await stranger.close()
    expect(status).to.equal(403)
  })

  it('rejects privileged pods in a namespace without Pod Security labels', async () => {
    const containers = [{ name: 'x', image: 'x', securityContext: { privileged: true } }]
    const answer = await client.send('POST', '/api/v1/namespaces/default/pods', {
      metadata: { name: 'x' },
      spec: { containers },
    })
    expect(answer.status).to.equal(403)
    expect(answer.text).to.include('violates PodSecurity')
  })

  it('takes a new issuer and authorizer while it runs, and denies requests while the authorizer is unreachable', async () => {
    const reader = await clientFor(await controlPlane.issueClientCertificate('reader'))
    const binding = {
      metadata: { name: 'reader' },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'cluster-admin' },
      subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: 'reader' }],
    }
    await create('/apis/rbac.authorization.k8s.io/v1/clusterrolebindings', binding)
    const statusOf = async (path: string) => (await reader.send('GET', path)).status
    await eventually('the binding', async () => (await statusOf('/api/v1/namespaces/freehold-system/pods')) === 200)
    // Nothing listens on port 1.
    await controlPlane.reconfigure({
      oidc: { issuerUrl: 'https://127.0.0.1:1/realms/freehold', audience: 'freehold' },
      authorizationWebhook: { url: 'https://127.0.0.1:1/authorize' },
    })
    await eventually('the authorizer', async () => (await statusOf('/api/v1/namespaces/freehold-system/pods')) !== 200)
    expect(await statusOf('/api/v1/namespaces/default/pods'), 'a namespace outside of the platform').to.equal(200)
    await controlPlane.reconfigure({})
    await eventually('RBAC again', async () => (await statusOf('/api/v1/namespaces/freehold-system/pods')) === 200)
    await reader.close()
  })

  it('keeps data and address over a restart', async () => {
    const { apiServerUrl, processes } = controlPlane
    const before = processes.map(({ name, pid }) => ({ name, pid }))
    expect(before.map(({ name }) => name)).to.have.members([
      'etcd',
      'kube-apiserver',
      'kube-controller-manager',
      'kube-scheduler',
      'kwok',
    ])
    await client.close()
    await controlPlane.stop()
    for (const { name, pid } of before) expect(identityOf(pid), name).to.equal(undefined)

    await start()
    expect(controlPlane.apiServerUrl).to.equal(apiServerUrl)
    const secret = await get('/api/v1/namespaces/default/secrets/quiet')
    expect(Buffer.from(secret.data.word, 'base64').toString()).to.equal('pa55phrase')
    expect((await get('/apis/apps/v1/namespaces/default/statefulsets/store')).status.readyReplicas).to.equal(PODS)
  })

  it('leaves no process when it stops', async () => {
    const pids = controlPlane.processes.map(({ pid }) => pid)
    expect(pids).to.have.length(5)
    await controlPlane.stop()
    expect(pids.filter((pid) => identityOf(pid) !== undefined)).to.deep.equal([])
  })
})
