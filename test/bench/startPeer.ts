// A separate process: client-node's informers for some kinds, and an answer once each has listed.
import { createServer } from 'node:http'
import {
  CustomObjectsApi,
  KubeConfig,
  type KubernetesListObject,
  type KubernetesObject,
  makeInformer,
} from '@kubernetes/client-node'
import type { Resource } from '../../src/core/object.ts'

const { PEER_KUBECONFIG = '', PEER_CONTEXT = '', PEER_PORT = '', PEER_KINDS = '[]' } = process.env
const config = new KubeConfig()
config.loadFromFile(PEER_KUBECONFIG)
config.setCurrentContext(PEER_CONTEXT)
const api = config.makeApiClient(CustomObjectsApi)
const kinds = JSON.parse(PEER_KINDS) as Resource[]

let isListed = false
const started = kinds.map(({ group, version, plural }) => {
  const list = async () =>
    (await api.listCustomObjectForAllNamespaces({
      group,
      version,
      resourcePlural: plural,
    })) as KubernetesListObject<KubernetesObject>
  return makeInformer(config, `/apis/${group}/${version}/${plural}`, list).start()
})
createServer((_request, response) => {
  response.writeHead(isListed ? 200 : 503).end()
}).listen(Number(PEER_PORT), '127.0.0.1')
await Promise.all(started)
isListed = true
