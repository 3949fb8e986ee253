import { parseArgs } from 'node:util'
import { collectDefaultMetrics, Registry } from 'prom-client'
import { type ReadinessCheck, startManagementServer } from './api/http/management.ts'
import { runActivator } from './composition/activator.ts'
import { runAgent } from './composition/agents/agent.ts'
import { AgentHub } from './composition/agents/hub.ts'
import { runControllers } from './composition/controllers.ts'
import { openFacadeConnection, runFacade } from './composition/facade.ts'
import type { Part, PartDependencies } from './composition/part.ts'
import { followSettings, turnAmongReplicas } from './composition/settings.ts'
import {
  type Configuration,
  ConfigurationError,
  overriddenSettings,
  ROLES,
  readConfiguration,
  variableName,
  withoutSecrets,
} from './config.ts'
import { messageOf } from './core/errors.ts'
import { createLog, type Log } from './core/log.ts'

/** Milliseconds that a stop may take after the facade has drained; then the process exits anyway. */
const STOP_WITHIN = 15_000

const SETTINGS = 'docs/reference/configuration.md describes each setting.'
const USAGE = `Usage: node src/main.ts [--role=${ROLES.join('|')}] [--print-config] [--check]
Everything else is configured by PLATFORM_* variables or the file that PLATFORM_CONFIG_FILE names.
${SETTINGS}
--check looks at the cluster and at what the configuration names, changes nothing, and ends with status 1 if something
is wrong.`

type Mode = 'run' | 'print' | 'check'

function readFlags(): { flags: Record<string, string>; mode: Mode } {
  const { values } = parseArgs({
    options: { role: { type: 'string' }, 'print-config': { type: 'boolean' }, check: { type: 'boolean' } },
  })
  const mode = values['print-config'] ? 'print' : values.check ? 'check' : 'run'
  return { flags: values.role === undefined ? {} : { role: values.role }, mode }
}

type Configured = { configuration: Configuration; flags: Record<string, string>; mode: Mode }

function configure(): Configured | undefined {
  try {
    const { flags, mode } = readFlags()
    return { configuration: readConfiguration(process.env, flags), flags, mode }
  } catch (error) {
    const isSetting = error instanceof ConfigurationError
    console.error(`${messageOf(error)}\n\n${isSetting ? SETTINGS : USAGE}`)
    process.exitCode = isSetting ? 78 : 64
    return undefined
  }
}

/** Milliseconds between looks at the event loop. By default it is 10, which is most of what an idle process does. */
const EVENT_LOOP_INTERVAL_MS = 100

/** Starts the parts of the role and stops them in reverse order, once, for whatever reason comes first. */
async function run({ configuration, flags }: Configured): Promise<void> {
  const log = createLog(configuration.logLevel, { role: configuration.role })
  for (const name of overriddenSettings(process.env))
    log.warn({ name }, `The setting ${name} of the file has no effect: the variable ${variableName(name)} counts.`)
  const registry = new Registry()
  collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision: EVENT_LOOP_INTERVAL_MS })
  const parts: Part[] = []
  let stopping: Promise<void> | undefined
  const stop = (exitCode: number, why: string): Promise<void> => {
    stopping ??= stopAll(parts, { log, why, timeout: STOP_WITHIN + configuration.drainSeconds * 1000 }).then(() =>
      process.exit(exitCode),
    )
    return stopping
  }
  const dependencies: PartDependencies = {
    log,
    registry,
    fail: (why) => {
      log.error({}, why)
      void stop(1, 'failure')
    },
  }
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, () => void stop(0, signal))
  // A rejection that nobody awaited is a defect of ours, but never a reason to take every tenant down with it.
  process.on('unhandledRejection', (reason) => log.error({ error: messageOf(reason) }, 'Unhandled promise rejection.'))
  try {
    // Before anything else, so that changes during the start are noticed.
    let connection: FacadeConnection | undefined
    parts.push(
      followSettings({
        file: process.env.PLATFORM_CONFIG_FILE,
        read: () => readConfiguration(process.env, flags),
        log,
        // Facades restart in turn, because callers always need one. Other roles have one active replica, or need one.
        waitForTurn: async () => connection && turnAmongReplicas(connection.client, log)(),
        restart: () => void stop(0, 'new settings'),
      }),
    )
    connection = await startParts(configuration, dependencies, parts)
    log.info({ seconds: Number((performance.now() / 1000).toFixed(2)) }, 'Started.')
  } catch (error) {
    if (stopping === undefined) dependencies.fail(`The start failed: ${messageOf(error)}`)
  }
}

type FacadeConnection = ReturnType<typeof openFacadeConnection>

/**
 * Starts the parts of the role. The management port opens first: a process that waits for the API server is alive, but
 * not ready.
 *
 * @returns the connection of the facade, if the role has one
 */
async function startParts(
  configuration: Configuration,
  dependencies: PartDependencies,
  parts: Part[],
): Promise<FacadeConnection | undefined> {
  const { role, managementHost: host, managementPort: port } = configuration
  let isStarted = false
  const started: ReadinessCheck = { name: 'started', isReady: () => isStarted }
  const checks = () => parts.flatMap((part) => part.checks)
  const management = await startManagementServer({ host, port, registry: dependencies.registry, checks })
  parts.push({ name: 'management', checks: [started], stop: management.stop })
  if (role === 'agent') {
    parts.push(await runAgent(configuration, dependencies))
    isStarted = true
    return undefined
  }
  const agents = new AgentHub(dependencies.log)
  await agents.open()
  parts.push({ name: 'tunnels', checks: [], stop: () => agents.stop() })
  const hasFacade = role === 'facade' || role === 'all'
  const connection = hasFacade ? openFacadeConnection(configuration, dependencies) : undefined
  if (connection !== undefined) parts.push(connection)
  if (role === 'controllers' || role === 'all')
    parts.push(await runControllers(configuration, dependencies, connection?.caches, agents))
  const activatorHere = { calls: undefined }
  if (connection !== undefined)
    parts.push(await runFacade(configuration, dependencies, connection, checks, agents, activatorHere))
  if (role === 'activator' || role === 'all')
    parts.push(await runActivator(configuration, dependencies, connection?.caches, agents, activatorHere))
  isStarted = true
  return connection
}

async function stopAll(
  parts: Part[],
  { log, why, timeout }: { log: Log; why: string; timeout: number },
): Promise<void> {
  log.info({ why }, 'Stopping.')
  const timer = setTimeout(() => process.exit(1), timeout)
  timer.unref()
  for (const part of parts.toReversed()) {
    await part
      .stop()
      .catch((error) => log.warn({ part: part.name, error: messageOf(error) }, 'A part did not stop cleanly.'))
  }
  clearTimeout(timer)
}

/** Imports the checks only here, because a process that serves does not need them. */
async function check(configuration: Configuration): Promise<void> {
  const { runCheck } = await import('./composition/check/run.ts')
  const { text, isSound } = await runCheck(configuration)
  process.stdout.write(text)
  process.exitCode = isSound ? 0 : 1
}

const configured = configure()
if (configured?.mode === 'print') console.log(JSON.stringify(withoutSecrets(configured.configuration), null, 2))
else if (configured?.mode === 'check') await check(configured.configuration)
else if (configured !== undefined) await run(configured)
