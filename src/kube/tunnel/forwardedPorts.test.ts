import { once } from 'node:events'
import { connect, Server } from 'node:net'
import { type Duplex, PassThrough } from 'node:stream'
import { expect } from 'chai'
import { messageOf } from '../../core/errors.ts'
import { ForwardedPorts } from './forwardedPorts.ts'

describe('ForwardedPorts', () => {
  it('opens a port again after a failed attempt', async () => {
    const ports = new ForwardedPorts(() => () => Promise.reject(new Error('No pod is asked for.')))
    const pod = { clusterId: 'far', namespace: 'shop', pod: 'database-0' }
    const { listen } = Server.prototype
    Server.prototype.listen = function refuse(this: Server) {
      queueMicrotask(() => this.emit('error', new Error('EMFILE')))
      return this
    }
    try {
      expect(await ports.open(pod, 5432).catch(messageOf)).to.equal('EMFILE')
    } finally {
      Server.prototype.listen = listen
    }
    const { host, port } = await ports.open(pod, 5432)
    expect(host).to.equal('127.0.0.1')
    expect((await ports.open(pod, 5432)).port).to.equal(port)
    ports.stop()
  })

  describe('after the idle timeout', () => {
    const pod = { clusterId: 'far', namespace: 'shop', pod: 'database-0' }
    const { setTimeout: begin } = globalThis
    /** Callbacks of timers. */
    let passed: (() => void)[]
    let ports: ForwardedPorts
    let far: Duplex
    beforeEach(() => {
      passed = []
      const note = (call: () => void, ...more: []) => {
        passed.push(call)
        return begin(call, ...more)
      }
      globalThis.setTimeout = Object.assign(note, begin) as typeof setTimeout
      far = new PassThrough()
      ports = new ForwardedPorts(() => () => Promise.resolve(far))
    })
    afterEach(() => {
      globalThis.setTimeout = begin
      ports.stop()
    })
    const reached = (at: { host: string; port: number }) => {
      const socket = connect(at)
      return once(socket, 'connect').then(
        () => socket,
        () => undefined,
      )
    }

    it('opens another port', async () => {
      await ports.open(pod, 5432)
      passed[0]?.()
      const socket = await reached(await ports.open(pod, 5432))
      expect(socket).not.to.equal(undefined)
      socket?.destroy()
    })

    it('keeps a port with an open connection', async () => {
      const at = await ports.open(pod, 5432)
      const socket = await reached(at)
      socket?.write('x')
      await once(far, 'data')
      passed[0]?.()
      expect(await ports.open(pod, 5432)).to.deep.equal(at)
      socket?.destroy()
    })
  })
})
