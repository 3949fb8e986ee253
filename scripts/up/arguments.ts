import { resolve } from 'node:path'
import { parsed, wholeNumber } from '../commandLine.ts'

export type UpArguments = {
  detach: boolean
  fresh: boolean
  /** Set for the background process of `--detach`; not for users. */
  supervise: boolean
  kubeconfig: string | undefined
  folder: string
  facadePort: number | undefined
  nodes: number
  /** A real node instead of simulated ones. */
  node: boolean
  /** A Git host of the platform's own. */
  git: boolean
}

export const UP_USAGE = `Usage: npm run up -- [options]
  --detach            return when the platform is ready; it keeps running until "npm run down"
  --fresh             forget all data of earlier runs first
  --kubeconfig FILE   use this cluster instead of starting one
  --data DIR          where data, certificates and logs are kept (default .freehold)
  --facade-port PORT  port of the REST interface on 127.0.0.1 (default: that of the last run, else a free one)
  --nodes COUNT       how many nodes are played (default 1, at most 64)
  --node              run pods for real, on one node in namespaces of its own (Linux, as root)
  --git               run a Git host for deployment sources of type circuit (its program is built once, in minutes)`

export const DOWN_USAGE = `Usage: npm run down -- [options]
  --data DIR          the data folder that "npm run up" was given (default .freehold)`

/** @throws UsageError for an unknown flag, a stray word, or an invalid value */
export function parseUpArguments(words: readonly string[]): UpArguments {
  const { values } = parsed(words, UP_USAGE, {
    detach: { type: 'boolean', default: false },
    fresh: { type: 'boolean', default: false },
    supervise: { type: 'boolean', default: false },
    kubeconfig: { type: 'string' },
    data: { type: 'string', default: '.freehold' },
    'facade-port': { type: 'string' },
    nodes: { type: 'string', default: '1' },
    node: { type: 'boolean', default: false },
    git: { type: 'boolean', default: false },
  })
  const { kubeconfig, 'facade-port': facadePort } = values
  return {
    detach: values.detach,
    fresh: values.fresh,
    supervise: values.supervise,
    kubeconfig: kubeconfig === undefined ? undefined : resolve(kubeconfig),
    folder: resolve(values.data),
    facadePort: facadePort === undefined ? undefined : wholeNumber('--facade-port', facadePort, 65_535, UP_USAGE),
    nodes: wholeNumber('--nodes', values.nodes, 64, UP_USAGE),
    node: values.node,
    git: values.git,
  }
}

/** @throws UsageError */
export function parseDownArguments(words: readonly string[]): { folder: string } {
  const { values } = parsed(words, DOWN_USAGE, { data: { type: 'string', default: '.freehold' } })
  return { folder: resolve(values.data) }
}
