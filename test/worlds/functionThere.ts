import { once } from 'node:events'
import { request } from 'node:http'
import { text } from 'node:stream/consumers'
import { expect } from 'chai'
import { reachThroughGate } from '../../src/composition/agents/copies.ts'
import { functionNames, functionObjectName } from '../../src/contracts/functions.ts'
import { type RemoteCopy, remoteCopyName } from '../../src/contracts/remoteCopies.ts'
import { messageOf } from '../../src/core/errors.ts'
import { FunctionNamespace, ServerlessFunction } from '../../src/crds/functions.ts'
import { deployment, pod } from '../../src/kube/builtin.ts'
import type { KubeClient } from '../../src/kube/client.ts'
import { until } from '../make/until.ts'
import { callFunction } from './activatorWorld.ts'
import { startPlayedKubelet } from './playedKubelet.ts'

type Setting = {
  call<Body>(status: number, method: string, path: string, body?: object): Promise<Body>
  here: KubeClient
  there: KubeClient
  /** The namespace of the group, with the same name here and there. */
  home: string
  clusterId: string
  /** Where the group's namespace of functions is by REST. */
  path: string
  activatorUrl: string
  /** The port of agents. */
  gateUrl: string
}

const IMAGE = 'docker.io/library/nginx:1'

/**
 * A function on another cluster sleeps, is woken by a call to its host here, and is reached through the agents' port
 * only.
 */
export async function seeFunctionThere(setting: Setting): Promise<void> {
  const { call, here, there, home, clusterId, path, activatorUrl } = setting
  const made = await call<{ clusterId: string }>(201, 'POST', path, { runtime: 'nodejs' })
  expect(made.clusterId).to.equal(clusterId)
  const open = { name: 'open', kind: 'Http', path: '/hello', authLevel: 'Anonymous' }
  const closed = { name: 'closed', kind: 'Http', path: '/closed', authLevel: 'Platform' }
  await call(201, 'POST', `${path}/functions/hello`, { handler: 'index', triggers: [open, closed] })
  const ref = { namespace: home, name: functionObjectName('calls', 'hello') }
  await here.mergePatch(ServerlessFunction.resource, ref, { spec: { image: IMAGE } })
  const { workload } = functionNames(ref.name)
  const holds = async (client: KubeClient) =>
    (await client.list(deployment, { namespace: home })).items.some(({ metadata }) => metadata.name === workload)
  await until('the function has a Deployment on the cluster', () => holds(there))
  expect(await holds(here)).to.equal(false)
  const host = await until('the function has a host', async () => {
    const { status } = await here.get(FunctionNamespace.resource, { namespace: home, name: 'calls' })
    return (status as FunctionNamespace['status'])?.publicHost
  })
  const called = (where: string) => callFunction(activatorUrl, where, { headers: { host } })
  const copies = async () => {
    const { status } = await here.get(ServerlessFunction.resource, ref)
    return (status as ServerlessFunction['status'])?.copies ?? []
  }
  await until('the function requires its key', async () => (await called('/closed')).status === 401)
  expect(await copies(), 'copies after a call without a key').to.deep.equal([])
  const answer = await until('the call does not return 504', async () => {
    const found = await called('/hello')
    return found.status !== 504 && found
  })
  expect([answer.status, JSON.parse(answer.text).code], 'pods are only played').to.deep.equal([503, 'SIMULATED'])
  const [entry = ''] = await copies()
  const copy = { ...ref, clusterId, pod: entry.split('/')[1] ?? '' }
  expect(entry).to.equal(remoteCopyName(copy))
  await seeTheWay(setting, copy)
}

/** The path of a separate activator: with its certificate, through agents' port, tunnel, agent, API server and node. */
async function seeTheWay({ here, there, gateUrl }: Setting, copy: RemoteCopy): Promise<void> {
  const found = await there.get(pod, { namespace: copy.namespace, name: copy.pod })
  const { nodeName = '' } = found.spec as { nodeName?: string }
  const node = await startPlayedKubelet(there, nodeName, (asked, response) => response.end(`hello from ${asked.url}`))
  try {
    const reach = reachThroughGate(here, gateUrl)
    const connection = await reach(copy)
    const sent = request({ createConnection: () => connection, path: '/hello' }).end()
    const [answer] = await once(sent, 'response')
    expect(await text(answer)).to.equal('hello from /hello')
    expect(node.asked).to.deep.equal([{ namespace: copy.namespace, pod: copy.pod, port: '8080' }])
    const refused = await reach({ ...copy, pod: 'vc-search-0' }).then(() => 'opened', messageOf)
    expect(refused, 'a pod of the group that is no copy').to.contain('the gate answered 404')
  } finally {
    node.stop()
  }
}
