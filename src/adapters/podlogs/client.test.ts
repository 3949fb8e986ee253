import { Readable } from 'node:stream'
import { expect } from 'chai'
import { kubePodLogs } from './client.ts'
import { lastBytes } from './port.ts'

describe('kubePodLogs, connected to a malicious cluster', () => {
  it('rejects a log without an end after its size limit', async () => {
    let sent = 0
    async function* endless() {
      for (; sent < 10_000; sent += 1) yield Buffer.alloc(1_000, 'x')
    }
    const body = Readable.from(endless(), { objectMode: false })
    const answer = { status: 200, headers: {}, body, text: async () => '' }
    const logs = kubePodLogs({ request: async () => answer }, { isSimulated: false, maxBytes: 50_000 })
    const chunks = await logs.open({ namespace: 'shop', pod: 'web-0', container: 'web' })
    const read = chunks && lastBytes(chunks, 10)
    expect(await read?.catch(String)).to.contain('longer than nodes keep')
    expect(sent).to.be.lessThan(200)
  })
})
