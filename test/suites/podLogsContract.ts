import { expect } from 'chai'
import { type LogSource, type LogWindow, lastBytes, type PodLogs } from '../../src/adapters/podlogs/port.ts'
import { parseLogLine } from '../../src/contracts/logs.ts'

/** Containers that have written what their names say. */
export type WrittenLogs = {
  logs: PodLogs
  /** Wrote "one", "two", "three" and keeps running; some time after `goOn` it writes "four", and ends. */
  running: LogSource
  goOn(): Promise<void>
  /** Wrote "before" in its first run and "after" in its second, which keeps running. */
  restarted: LogSource
}

/** What every source of logs must do, the fake and a kubelet alike. */
export function podLogsContract(open: () => WrittenLogs) {
  const textOf = async (source: LogSource, window: LogWindow = {}) => {
    const chunks = await open().logs.open(source, window)
    return chunks === undefined ? undefined : Buffer.from(await lastBytes(chunks, 1e6)).toString()
  }

  it('returns undefined for a missing pod or container', async () => {
    const { running } = open()
    expect(await textOf({ ...running, pod: 'nobody' })).to.equal(undefined)
    expect(await textOf({ ...running, container: 'nobody' })).to.equal(undefined)
    expect(await textOf({ ...running, pod: 'nobody' }, { follow: true })).to.equal(undefined)
  })

  it('returns the whole log or its last lines', async () => {
    const { running } = open()
    expect(await textOf(running)).to.equal('one\ntwo\nthree\n')
    expect(await textOf(running, { tailLines: 2 })).to.equal('two\nthree\n')
    expect(await textOf(running, { tailLines: 0 })).to.equal('')
  })

  it('adds ascending timestamps on request', async () => {
    const lines = ((await textOf(open().running, { timestamps: true })) ?? '').trim().split('\n').map(parseLogLine)
    expect(lines.map(({ text }) => text)).to.deep.equal(['one', 'two', 'three'])
    const times = lines.map(({ timestamp }) => timestamp ?? '')
    expect(times).to.deep.equal(times.toSorted())
    expect(times).not.to.include('')
  })

  it('returns the log of the previous run on request', async () => {
    const { running, restarted } = open()
    expect(await textOf(restarted, { previous: true })).to.equal('before\n')
    expect(await textOf(restarted)).to.equal('after\n')
    expect(await textOf(running, { previous: true })).to.equal(undefined)
  })

  it('stops following when the signal aborts', async () => {
    const stop = new AbortController()
    const chunks = await open().logs.open(open().running, { follow: true, signal: stop.signal })
    let text = ''
    try {
      for await (const chunk of chunks ?? []) {
        text += Buffer.from(chunk).toString()
        if (text.endsWith('three\n')) stop.abort()
      }
    } catch (error) {
      expect((error as Error).name).to.equal('AbortError')
    }
    expect(text).to.equal('one\ntwo\nthree\n')
  })

  it('follows new lines until the container ends', async () => {
    const { logs, running, goOn } = open()
    const stop = new AbortController()
    const chunks = await logs.open(running, { follow: true, tailLines: 1, timestamps: true, signal: stop.signal })
    const texts: string[] = []
    let begun: Promise<void> | undefined
    let rest = ''
    for await (const chunk of chunks ?? []) {
      begun ??= goOn()
      rest += Buffer.from(chunk).toString()
    }
    await begun
    texts.push(
      ...rest
        .trim()
        .split('\n')
        .map((line) => parseLogLine(line).text),
    )
    expect(texts).to.deep.equal(['three', 'four'])
  })
}
