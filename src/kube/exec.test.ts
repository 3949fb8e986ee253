import { spawn } from 'node:child_process'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'
import { expect } from 'chai'
import { WebSocketServer } from 'ws'
import type { ClusterAccess } from '../kubeconfig/access.ts'
import { createExec, type Exec, ExecRefusedError } from './exec.ts'

/** Plays an API server and a kubelet whose commands run on this machine. */
function startServer(): Promise<Server> {
  const server = createServer((_request, response) => response.writeHead(403).end())
  const sockets = new WebSocketServer({ noServer: true, handleProtocols: () => 'v5.channel.k8s.io' })
  server.on('upgrade', (request, socket, head) => {
    const url = new URL(request.url ?? '', 'http://x')
    if (url.pathname.endsWith('/pods/silly/exec'))
      return sockets.handleUpgrade(request, socket, head, (client) => {
        const timer = setInterval(() => {
          for (let count = 0; count < 1_000; count += 1) client.send(Buffer.from([1]))
        }, 1)
        client.on('close', () => clearInterval(timer))
      })
    if (!url.pathname.endsWith('/pods/good/exec')) return socket.end('HTTP/1.1 404 Not Found\r\n\r\n')
    sockets.handleUpgrade(request, socket, head, (client) => {
      const [program = '', ...args] = url.searchParams.getAll('command')
      if (program === 'quick') {
        const [status = JSON.stringify({ status: 'Success' })] = args
        for (const [channel, text] of [[1, 'hello'] as const, [3, status] as const])
          client.send(Buffer.concat([Buffer.from([channel]), Buffer.from(text)]))
        return client.close(1000)
      }
      const child = spawn(program, args)
      const forward = (channel: number) => (bytes: Buffer) => {
        const stream = channel === 1 ? child.stdout : child.stderr
        stream.pause()
        client.send(Buffer.concat([Buffer.from([channel]), bytes]), () => stream.resume())
      }
      child.stdout.on('data', forward(1))
      child.stderr.on('data', forward(2))
      child.stdin.on('error', () => {})
      client.on('message', (message: Buffer) => {
        if (message[0] === 0) child.stdin.write(message.subarray(1))
        if (message[0] === 255) child.stdin.end()
      })
      client.on('close', () => child.kill())
      child.on('close', (code) => {
        const status = code === 0 ? { status: 'Success' } : { status: 'Failure', message: `exit code ${code}` }
        client.send(Buffer.concat([Buffer.from([3]), Buffer.from(JSON.stringify(status))]), () => client.close(1000))
      })
    })
  })
  return new Promise((resolve) => server.listen(0, '127.0.0.1', () => resolve(server)))
}

describe('createExec', () => {
  let server: Server
  let exec: Exec
  let access: ClusterAccess
  beforeEach(async () => {
    server = await startServer()
    access = {
      server: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
      namespace: 'default',
      proxyUrl: undefined,
      tls: async () => ({}),
      authorization: async () => 'Bearer x',
      refresh: () => {},
    }
    exec = createExec(access, 'test')
  })
  afterEach(() => {
    server.closeAllConnections()
    server.close()
  })

  const run = (command: string, signal = new AbortController().signal, pod = 'good') =>
    exec({ namespace: 'n', pod, container: 'c', command: ['sh', '-c', command], signal })

  it('does not run a command if it is aborted while the credentials are read', async () => {
    const aborting = new AbortController()
    const authorization = async () => {
      aborting.abort()
      return 'Bearer x'
    }
    const request = { namespace: 'n', pod: 'good', container: 'c', command: ['sleep', '60'], signal: aborting.signal }
    const run = createExec({ ...access, authorization }, 'test')(request)
    expect(await run.then(() => 'it runs').catch((error: unknown) => error)).to.be.instanceOf(Error)
  })

  it('returns all bytes that a command writes', async () => {
    const { stdout } = await run('head -c 20000000 /dev/zero')
    expect((await buffer(stdout)).length).to.equal(20_000_000)
  })

  it('returns bytes that arrive together with the handshake', async () => {
    const signal = new AbortController().signal
    const { stdout } = await exec({ namespace: 'n', pod: 'good', container: 'c', command: ['quick'], signal })
    expect((await buffer(stdout)).toString()).to.equal('hello')
  })

  for (const status of ['nonsense', '', 'null', '"Success"', '[]', '{"status":{}}', '{"message":{"toString":1}}'])
    it(`fails only this session for the invalid exit status ${status}`, async () => {
      const { signal } = new AbortController()
      const session = await exec({ namespace: 'n', pod: 'good', container: 'c', command: ['quick', status], signal })
      const error = await buffer(session.stdout).catch((caught: Error) => caught)
      expect(String(error)).to.match(/The command in the container failed|The connection to the container was lost/)
    })

  it('sends stdin to its end', async () => {
    const session = await run('wc -c')
    const piece = Buffer.alloc(1_000_000)
    for (let count = 0; count < 20; count += 1) await session.write(piece)
    session.end()
    expect((await buffer(session.stdout)).toString().trim()).to.equal('20000000')
  })

  it('applies back-pressure to the command', async () => {
    const { stdout } = await run('head -c 50000000 /dev/zero; echo end >&2')
    let size = 0
    for await (const chunk of stdout) {
      size += (chunk as Buffer).length
      expect(stdout.readableLength).to.be.below(4_000_000)
      if (size % 3 === 0) await new Promise((resolve) => setImmediate(resolve))
    }
    expect(size).to.equal(50_000_000)
  })

  it('fails with the exit code and stderr of the command', async () => {
    const { stdout } = await run('echo some; echo wrong >&2; exit 3')
    const error = await buffer(stdout).catch((caught: Error) => caught)
    expect((error as Error).message).to.equal('The command in the container failed: exit code 3 wrong')
  })

  for (const [what, program] of [
    ['stderr', 'while :; do echo wrong; done >&2'],
    ['empty messages', 'exec cat'],
  ] as const)
    it(`ends a command that sends endless ${what}`, async () => {
      const { stdout } = await run(program, undefined, what === 'stderr' ? 'good' : 'silly')
      const error = await buffer(stdout).catch((caught: Error) => caught)
      expect((error as Error).message).to.contain('sends without end what nobody reads')
    })

  it('ends a command when it is aborted', async () => {
    const stop = new AbortController()
    const { stdout } = await run('echo begin; exec sleep 600', stop.signal)
    const chunks: string[] = []
    const read = (async () => {
      for await (const chunk of stdout) {
        chunks.push(String(chunk))
        stop.abort()
      }
    })()
    const error = await read.catch((caught: Error) => caught)
    expect([chunks.join(''), (error as Error).message]).to.deep.equal([
      'begin\n',
      'The connection to the container was lost.',
    ])
  })

  it('throws ExecRefusedError with 404 for a missing pod', async () => {
    const error = await run('true', undefined, 'other').catch((caught: unknown) => caught)
    expect(error).to.be.instanceOf(ExecRefusedError)
    expect((error as ExecRefusedError).status).to.equal(404)
  })
})
