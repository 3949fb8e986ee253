import { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { expect } from 'chai'
import { followedPodLogs } from '../../src/adapters/podlogs/followed.ts'
import type { LogSource, PodLogs } from '../../src/adapters/podlogs/port.ts'
import { systemClock } from '../../src/core/clock.ts'
import { until } from '../make/until.ts'

type World = {
  logs: PodLogs
  /** Runs a script in a container. */
  write: (script: string) => Promise<{ source: LogSource; remove: () => Promise<unknown> }>
}

/** The log of a real container that writes as fast as it can. */
export function fastLogSuite(worldOf: () => World): void {
  it('returns the last 500 lines, and follows, while megabytes are written each second', async () => {
    const { logs, write } = worldOf()
    const line = 'x'.repeat(200)
    const { source, remove } = await write(`yes ${line} | head -n 1500000; yes ${line}`)
    const stop = new AbortController()
    const window = { tailLines: 500, timestamps: true, signal: stop.signal }
    const readEnd = async () => text((await logs.open(source, window)) ?? Readable.from([]))
    await until('it has written', async () => (await readEnd()).length > 0)
    // Its file is rotated every ten seconds at most, and grows meanwhile.
    for (let count = 0; count < 300; count += 1) await readEnd()
    const began = performance.now()
    const seconds = () => ((performance.now() - began) / 1000).toFixed(1)
    const end = await readEnd()
    console.log(`      its end after ${seconds()} s`)
    expect(end.trimEnd().split('\n')).to.have.length(500)
    const followed = followedPodLogs(logs, { clock: systemClock, isAlive: () => true })
    let [batches, characters] = [0, 0]
    for await (const lines of followed.follow(source, { tailLines: 500, signal: stop.signal })) {
      batches += 1
      characters += lines.reduce((sum, { text: written }) => sum + written.length, 0)
      if (batches <= 2)
        console.log(`      followed: ${batches === 1 ? 'its end' : 'what came then'} after ${seconds()} s`)
      if (characters < 20_000_000) continue
      const late = Date.now() - Date.parse(lines.at(-1)?.timestamp ?? '')
      console.log(`      20 MB of it after ${seconds()} s, which was written ${(late / 1000).toFixed(1)} s before`)
      stop.abort()
    }
    expect(characters).to.be.at.least(20_000_000)
    await remove()
  })
}
