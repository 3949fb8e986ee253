import { Server } from 'node:net'
import { expect } from 'chai'
import { messageOf } from '../../core/errors.ts'
import { ForwardedPorts } from './forwardedPorts.ts'

describe('a port that leads to a pod', () => {
  it('is opened again after it could not be', async () => {
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
})
