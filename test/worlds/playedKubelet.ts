import { createServer as createHttpServer, type RequestListener } from 'node:http'
import { createServer, type Server } from 'node:https'
import { type AddressInfo, connect } from 'node:net'
import { type WebSocket, WebSocketServer } from 'ws'
import { createAuthority, issueCertificate } from '../../src/composition/certificates.ts'
import { node } from '../../src/kube/builtin.ts'
import type { KubeClient } from '../../src/kube/client.ts'

const PATH = /^\/portForward\/([^/]+)\/([^/]+)/

/**
 * A node's answers to its API server, for a simulated node: connections to ports of pods, all of which lead to the
 * test's server.
 */
export async function startPlayedKubelet(client: KubeClient, name: string, listener: RequestListener) {
  const asked: { namespace: string | undefined; pod: string | undefined; port: string | null }[] = []
  const authority = await createAuthority('nodes', new Date())
  const request = { commonName: name, purpose: 'server', names: ['127.0.0.1'] } as const
  const { certPem: cert, keyPem: key } = await issueCertificate(authority, request, new Date())
  const pod = createHttpServer(listener)
  const kubelet = createServer({ cert, key }, (_, response) => response.writeHead(404).end())
  const sockets = new WebSocketServer({ noServer: true })
  const podPort = await listening(pod)
  kubelet.on('upgrade', (upgrade, socket, head) => {
    const { pathname, searchParams } = new URL(upgrade.url ?? '', 'https://node')
    const [, namespace, podName] = PATH.exec(pathname) ?? []
    asked.push({ namespace, pod: podName, port: searchParams.get('port') ?? searchParams.get('ports') })
    sockets.handleUpgrade(upgrade, socket, head, (connection) => forward(connection, podPort))
  })
  const status = {
    addresses: [{ type: 'InternalIP', address: '127.0.0.1' }],
    daemonEndpoints: { kubeletEndpoint: { Port: await listening(kubelet) } },
  }
  await client.mergePatch(node, { name }, { status }, { subresource: 'status' })
  return {
    asked,
    stop() {
      for (const each of sockets.clients) each.terminate()
      for (const server of [kubelet, pod]) {
        server.closeAllConnections()
        server.close()
      }
    },
  }
}

async function listening(server: Server | ReturnType<typeof createHttpServer>): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return (server.address() as AddressInfo).port
}

/** Each channel starts with the port number: data, then errors. */
function forward(connection: WebSocket, port: number): void {
  const socket = connect(port, '127.0.0.1')
  const number = Buffer.alloc(2)
  number.writeUInt16LE(port)
  for (const channel of [0, 1]) connection.send(Buffer.concat([Buffer.from([channel]), number]))
  connection.on('message', (message: Buffer) => socket.write(message.subarray(1)))
  connection.on('close', () => socket.destroy())
  socket.on('data', (bytes) => connection.send(Buffer.concat([Buffer.from([0]), bytes])))
  socket.on('error', () => connection.terminate())
  socket.on('close', () => connection.close())
}
