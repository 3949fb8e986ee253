import { expect } from 'chai'
import { DOMAIN } from '../../scripts/platform.ts'
import { groupNamespace } from '../../src/core/names.ts'
import type { KubeObject } from '../../src/core/object.ts'
import { PlatformCluster } from '../../src/crds/clusters.ts'
import { networkPolicy, pod, service } from '../../src/kube/builtin.ts'
import type { KubeClient } from '../../src/kube/client.ts'
import { httpRoute } from '../../src/kube/gateway.ts'
import { makeBoundary, makeGroup, uniqueName, until } from '../worlds/platform.ts'
import { administrator } from '../worlds/tenant.ts'
import { PublicHosts } from './publicHosts.ts'
import { pushShell, shellPod } from './shell.ts'

describe('services of a cloud, on a node', () => {
  const name = uniqueName('web')
  const host = `${name}.${DOMAIN}`
  let client: KubeClient
  let hosts: PublicHosts
  let namespace: string
  let cluster: PlatformCluster

  before(async () => {
    await pushShell()
    client = await administrator()
    hosts = new PublicHosts()
    const { id } = await makeBoundary()
    namespace = groupNamespace(id, (await makeGroup(id)).name)
    const { items } = await client.list(PlatformCluster.resource)
    cluster = items[0] as unknown as PlatformCluster
    await client.create(
      pod,
      shellPod(
        name,
        namespace,
        `mkdir /tmp/${name} && echo "this is ${name}" > /tmp/${name}/index.html && exec busybox httpd -f -p 8080 -h /tmp/${name}`,
      ),
    )
  })
  after(async () => {
    await hosts?.close()
    await client?.close()
  })

  /** As controllers write them for a resource with a public host. */
  async function expose(): Promise<void> {
    const metadata = { name, namespace }
    const { gateway } = cluster.spec
    const objects: [typeof service, object][] = [
      [service, { spec: { selector: { app: name }, ports: [{ port: 80, targetPort: 8080 }] } }],
      [
        httpRoute,
        {
          spec: {
            parentRefs: [{ group: httpRoute.group, kind: 'Gateway', ...gateway }],
            hostnames: [host],
            rules: [{ backendRefs: [{ kind: 'Service', name, port: 80 }] }],
          },
        },
      ],
    ]
    for (const [resource, rest] of objects) {
      const { group, version, kind } = resource
      const apiVersion = group === '' ? version : `${group}/${version}`
      await client.create(resource, { apiVersion, kind, metadata, ...rest } as KubeObject)
    }
  }

  it('the Gateway routes a public host once a network policy admits it', async () => {
    await expose()
    const routed = await until('the Gateway knows the host', async () => {
      const answer = await hosts.get(`https://${host}/`)
      return answer.status !== 404 && answer
    })
    // Pods of a group accept traffic from their group only, and the Gateway is not in it.
    expect(routed.status).to.be.within(500, 504)
    const from = [
      { namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': cluster.spec.gateway?.namespace } } },
    ]
    await client.create(networkPolicy, {
      apiVersion: 'networking.k8s.io/v1',
      kind: 'NetworkPolicy',
      metadata: { name, namespace },
      spec: { podSelector: { matchLabels: { app: name } }, ingress: [{ from }] },
    } as KubeObject)
    const page = await until('the page comes', async () => {
      const answer = await hosts.get(`https://${host}/`)
      return answer.status === 200 && answer
    })
    expect(page.text).to.equal(`this is ${name}\n`)
    expect(await hosts.get(`http://${host}/`)).to.deep.equal(page)
  })

  it('the Gateway returns 404 for an unknown host', async () => {
    expect((await hosts.get(`https://nobody.${DOMAIN}/`)).status).to.equal(404)
  })

  it('the metrics API returns the usage of a container', async () => {
    type Usage = { containers: { name: string; usage: { cpu: string; memory: string } }[] }
    const usage = await until('there are metrics of the pod', async () => {
      const path = `/apis/metrics.k8s.io/v1beta1/namespaces/${namespace}/pods/${name}`
      const answer = await client.request({ path })
      const text = await answer.text()
      if (answer.status !== 200) throw new Error(`${answer.status} ${text.slice(0, 300)}`)
      return (JSON.parse(text) as Usage).containers[0]?.usage
    })
    expect(usage.memory).to.match(/^[1-9]\d*Ki$/)
    expect(usage.cpu).to.match(/^\d+n?$/)
  })
})
