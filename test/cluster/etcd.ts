import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Agent, request } from 'undici'
import { layout } from '../../scripts/controlplane/flags.ts'

type Range = { kvs?: { key: string; value: string }[]; more?: boolean }

/**
 * Every key and value of the etcd of a control plane of ours, raw, through etcd's JSON gateway (etcd 3.6,
 * `/v3/kv/range`).
 */
export async function* etcdContent(folder: string): AsyncGenerator<{ key: string; value: Buffer }> {
  const { etcdHttp } = JSON.parse(await readFile(join(folder, 'ports.json'), 'utf8')) as { etcdHttp: number }
  const paths = layout(folder)
  const [ca, cert, key] = await Promise.all(
    [paths.certificate('etcd-ca'), paths.certificate('etcd-client'), paths.key('etcd-client')].map((path) =>
      readFile(path, 'utf8'),
    ),
  )
  const dispatcher = new Agent({ connect: { ca, cert, key } })
  try {
    let from = Buffer.from([0])
    for (;;) {
      const body = { key: from.toString('base64'), range_end: 'AA==', limit: 500 }
      const answer = await request(`https://127.0.0.1:${etcdHttp}/v3/kv/range`, {
        method: 'POST',
        body: JSON.stringify(body),
        dispatcher,
      })
      if (answer.statusCode !== 200) throw new Error(`etcd answered ${answer.statusCode}: ${await answer.body.text()}`)
      const { kvs = [], more = false } = (await answer.body.json()) as Range
      for (const kv of kvs) {
        yield { key: Buffer.from(kv.key, 'base64').toString(), value: Buffer.from(kv.value ?? '', 'base64') }
      }
      const last = kvs.at(-1)
      if (!more || last === undefined) return
      // The first key after the last one.
      from = Buffer.concat([Buffer.from(last.key, 'base64'), Buffer.from([0])])
    }
  } finally {
    await dispatcher.close()
  }
}
