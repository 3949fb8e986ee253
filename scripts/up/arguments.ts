import { resolve } from 'node:path'
import { parseArgs } from 'node:util'

export type UpArguments = {
  detach: boolean
  fresh: boolean
  /** Set on the background process of `--detach`; not for people. */
  supervise: boolean
  kubeconfig: string | undefined
  folder: string
  facadePort: number | undefined
  nodes: number
  /** A real node instead of played ones. */
  node: boolean
}

export const UP_USAGE = `Usage: npm run up -- [options]
  --detach            return when the platform is ready; it keeps running until "npm run down"
  --fresh             forget all data of earlier runs first
  --kubeconfig FILE   use this cluster instead of starting one
  --data DIR          where data, certificates and logs are kept (default .freehold)
  --facade-port PORT  port of the REST interface on 127.0.0.1 (default: that of the last run, else a free one)
  --nodes COUNT       how many nodes are played (default 1, at most 64)
  --node              run pods for real, on one node in namespaces of its own (Linux, as root)`

export const DOWN_USAGE = `Usage: npm run down -- [options]
  --data DIR          the data folder that "npm run up" was given (default .freehold)`

/** Wrong words on the command line: the message is for the user, with the usage behind it. */
export class UsageError extends Error {}

/** @throws UsageError for an unknown flag, a stray word, or a value that is none */
export function parseUpArguments(words: readonly string[]): UpArguments {
  const values = parsed(words, UP_USAGE, {
    detach: { type: 'boolean', default: false },
    fresh: { type: 'boolean', default: false },
    supervise: { type: 'boolean', default: false },
    kubeconfig: { type: 'string' },
    data: { type: 'string', default: '.freehold' },
    'facade-port': { type: 'string' },
    nodes: { type: 'string', default: '1' },
    node: { type: 'boolean', default: false },
  })
  const { kubeconfig, 'facade-port': facadePort } = values
  return {
    detach: values.detach === true,
    fresh: values.fresh === true,
    supervise: values.supervise === true,
    kubeconfig: typeof kubeconfig === 'string' ? resolve(kubeconfig) : undefined,
    folder: resolve(String(values.data)),
    facadePort: facadePort === undefined ? undefined : wholeNumber('--facade-port', facadePort, 65_535),
    nodes: wholeNumber('--nodes', values.nodes, 64),
    node: values.node === true,
  }
}

/** @throws UsageError */
export function parseDownArguments(words: readonly string[]): { folder: string } {
  return { folder: resolve(String(parsed(words, DOWN_USAGE, { data: { type: 'string', default: '.freehold' } }).data)) }
}

type Flags = NonNullable<NonNullable<Parameters<typeof parseArgs>[0]>['options']>

function parsed(words: readonly string[], usage: string, options: Flags): Record<string, unknown> {
  try {
    return parseArgs({ args: [...words], options, strict: true, allowPositionals: false }).values
  } catch (error) {
    throw new UsageError(`${(error as Error).message}\n${usage}`)
  }
}

function wholeNumber(flag: string, text: unknown, most: number): number {
  const value = /^\d+$/.test(String(text)) ? Number(text) : 0
  if (value < 1 || value > most) {
    throw new UsageError(`${flag} must be a whole number from 1 to ${most}, not "${text}".\n${UP_USAGE}`)
  }
  return value
}
