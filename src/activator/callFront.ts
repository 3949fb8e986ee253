import type { IncomingMessage, RequestListener, Server, ServerResponse } from 'node:http'
import { FACADE_CALL, FORWARDED_HEADER, MOVED_HEADER } from '../contracts/functions.ts'
import type { Clock } from '../core/clock.ts'
import { disconnectSignalOf } from '../core/disconnectSignal.ts'
import { messageOf } from '../core/errors.ts'
import type { Log } from '../core/log.ts'
import { SharedSlots } from '../core/sharedSlots.ts'
import { CopyUnreachableError } from './copyConnection.ts'
import { forward, stripHopByHopHeaders } from './proxy.ts'
import { type CallHandler, createCallServer, letBodyCome, RETRY_AFTER_HEADERS, refuse, withholdBody } from './server.ts'

/** How the process that leads answers. */
export type LeadingHandlers = { calls: CallHandler; facades: RequestListener }

export type CallFrontOptions = {
  clock: Clock
  log: Log
  /** Whether this process certainly holds the lease. */
  isLeader: () => boolean
  /** Returns the tenant of a host. */
  tenantOf: (host: string | undefined) => string
  maxHeld?: number
}

/** Milliseconds that a call waits for a process that leads: a lost one is replaced within nine seconds. */
const HOLD_TIMEOUT_MS = 10_000
/** A held call takes up to 75 KiB. */
const MAX_HELD_CALLS = 2_000
/** Milliseconds for the last answers of a process that no longer leads: it ends its calls before it releases the lease. */
const FORMER_HOLDER_TIMEOUT_MS = 2_000

export type CallSituation = {
  leads: boolean
  /** The address of the process that leads; undefined while nobody is known to. */
  holder: string | undefined
  /** Whether it was unreachable since the lease was last read. */
  wasUnreachable: boolean
  /** Milliseconds since the call came. */
  waited: number
  hasRoom: () => boolean
}

/** Decides what becomes of a call. */
export function nextStep(situation: CallSituation): 'answer' | 'forward' | 'hold' | 'refuse' {
  const { leads, holder, wasUnreachable, waited, hasRoom } = situation
  if (leads) return 'answer'
  if (holder !== undefined && !wasUnreachable) return 'forward'
  return waited < HOLD_TIMEOUT_MS && hasRoom() ? 'hold' : 'refuse'
}

type Holder = { address: string; ended: AbortController }
type Kind = 'calls' | 'facades'
type Exchange = { kind: Kind; request: IncomingMessage; response: ServerResponse }

/**
 * Takes calls of functions, and requests of facades, in each activator: the one that leads answers them, another one
 * forwards them to it, and holds them while nobody leads. A forwarded call is never forwarded again.
 */
export class CallFront {
  readonly #options: CallFrontOptions
  readonly #held: SharedSlots
  readonly #answering = new Set<ServerResponse>()
  readonly #waiters = new Set<() => void>()
  #onIdle: () => void = () => {}
  #handlers: LeadingHandlers | undefined
  #holder: Holder | undefined
  #isEnding = false
  /** Counts what was learned about the lease. */
  #news = 0

  constructor(options: CallFrontOptions) {
    this.#options = options
    this.#held = new SharedSlots(options.maxHeld ?? MAX_HELD_CALLS)
  }

  readonly isLeading = (): boolean => this.#handlers !== undefined && this.#options.isLeader()

  /** The number of calls that wait for a process that leads. */
  get held(): number {
    return this.#waiters.size
  }

  /** Answers calls from now on. */
  lead(handlers: LeadingHandlers): void {
    this.#handlers = handlers
    this.sawHolder(undefined)
  }

  /** @param address of the process that leads now; undefined if it is unknown, or this one */
  sawHolder(address: string | undefined): void {
    const former = this.#holder
    if (former?.address !== address) {
      this.#holder = address === undefined ? undefined : { address, ended: new AbortController() }
      // One that is paused or cut off would never answer.
      this.#options.clock.setTimeout(() => former?.ended.abort(), FORMER_HOLDER_TIMEOUT_MS)
    }
    this.#news += 1
    for (const wake of [...this.#waiters]) wake()
  }

  /** Leaves new calls to the next process; resolves when those in progress have ended or `milliseconds` have passed. */
  async drain(milliseconds: number): Promise<void> {
    this.#isEnding = true
    this.#handlers = undefined
    await new Promise<void>((resolve) => {
      this.#options.clock.setTimeout(resolve, milliseconds)
      this.#onIdle = resolve
      if (this.#answering.size === 0) resolve()
    })
    for (const response of this.#answering) response.destroy()
  }

  /** The listener of a public port. */
  listener(kind: Kind): RequestListener {
    return (request, response) => {
      if (this.#isEnding) response.shouldKeepAlive = false
      this.#take({ kind, request, response }).catch((error: unknown) => {
        this.#options.log.debug({ error: messageOf(error) }, 'A call was not answered by the activator that leads.')
        refuse(response, 'UNREACHABLE')
      })
    }
  }

  /** The server for calls that other activators forward. */
  peerServer(): Server {
    const server = createCallServer((request, response) => {
      const caller = request.headers[FORWARDED_HEADER]
      const kind = caller === FACADE_CALL ? 'facades' : 'calls'
      if (typeof caller !== 'string') return refuse(response, 'NOT_FOUND')
      void this.#answer({ kind, request, response }, caller).then((outcome) => {
        if (outcome === 'moved') response.writeHead(503, { [MOVED_HEADER]: 'true', connection: 'close' }).end()
      })
    })
    return server.on('checkContinue', (request: IncomingMessage, response: ServerResponse) => {
      withholdBody(response)
      server.emit('request', request, response)
    })
  }

  async #take(exchange: Exchange): Promise<void> {
    const { request, response } = exchange
    const { clock, tenantOf } = this.#options
    const since = clock.monotonic()
    // Once for a call: it is looked up among all namespaces, and held calls are decided anew each second.
    let known: string | undefined
    const tenant = () => (known ??= tenantOf(request.headers.host))
    let failedAt: number | undefined
    while (!response.closed) {
      const holder = this.#holder
      const step = nextStep({
        leads: this.isLeading(),
        holder: holder?.address,
        wasUnreachable: failedAt === this.#news,
        waited: clock.monotonic() - since,
        hasRoom: () => !this.#held.isFullFor(tenant()),
      })
      if (step === 'refuse') return refuse(response, 'NO_ACTIVATOR', RETRY_AFTER_HEADERS)
      if (step === 'answer' && (await this.#answer(exchange, request.socket.remoteAddress)) === 'answered') return
      if (step === 'hold') {
        this.#held.take(tenant())
        await this.#change(HOLD_TIMEOUT_MS - (clock.monotonic() - since), disconnectSignalOf(response))
        this.#held.free(tenant())
      }
      if (step !== 'forward' || holder === undefined) continue
      failedAt = this.#news
      if (await this.#forward(exchange, holder)) return
    }
  }

  async #answer({ kind, request, response }: Exchange, caller: string | undefined): Promise<'answered' | 'moved'> {
    const handlers = this.#handlers
    if (handlers === undefined || !this.isLeading()) return 'moved'
    this.#answering.add(response)
    response.once('close', () => this.#leave(response))
    if (kind === 'facades') {
      letBodyCome(response)
      handlers.facades(request, response)
      return 'answered'
    }
    const outcome = await handlers.calls(request, response, caller)
    if (outcome === 'moved') this.#leave(response)
    return outcome
  }

  #leave(response: ServerResponse): void {
    if (this.#answering.delete(response) && this.#answering.size === 0) this.#onIdle()
  }

  /** @returns false if the other process has done nothing */
  async #forward({ kind, request, response }: Exchange, { address, ended }: Holder): Promise<boolean> {
    const caller = kind === 'facades' ? FACADE_CALL : (request.socket.remoteAddress ?? '')
    const headers = { ...stripHopByHopHeaders(request.headers), [FORWARDED_HEADER]: caller }
    const signal = AbortSignal.any([disconnectSignalOf(response), ended.signal])
    const reach = () => Promise.reject(new Error('An activator is no copy.'))
    try {
      await forward(request, response, { address, reach, headers, signal, isPeer: true })
      return true
    } catch (error) {
      if (error instanceof CopyUnreachableError) return false
      if (response.closed) return true
      throw error
    }
  }

  /** Resolves when the lease was read again, after `milliseconds`, or when the caller has gone. */
  #change(milliseconds: number, gone: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const end = () => {
        timer.cancel()
        gone.removeEventListener('abort', end)
        this.#waiters.delete(end)
        resolve()
      }
      const timer = this.#options.clock.setTimeout(end, milliseconds)
      gone.addEventListener('abort', end)
      this.#waiters.add(end)
    })
  }
}
