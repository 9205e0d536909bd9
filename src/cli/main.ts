/**
 * The command line: which command, with which options. Each command's file is loaded when it runs, so that `--help` stays quick.
 */
import { Command, CommanderError, Option } from 'commander'
import { ComityError, OwnerGone } from '../gateway/admin/errors.ts'
import { packageVersion } from '../gateway/compose/version.ts'
import type { ApprovalsOptions } from './approvals.ts'
import type { CallOptions, ReadOptions } from './call.ts'
import type { CompatOptions } from './compat.ts'
import type { DelegateOptions } from './delegate.ts'
import type { ImportOptions } from './import.ts'
import type { LedgerOptions, SettleOptions } from './ledger.ts'
import type { LoginOptions } from './login.ts'
import type { LogoutOptions } from './logout.ts'
import type { LogsOptions } from './logs.ts'
import type { McpOptions } from './mcp.ts'
import type { ProbeOptions } from './probe.ts'
import type { PromptOptions } from './prompt.ts'
import type { SharedOptions } from './shared.ts'
import type { StopOptions } from './stop.ts'
import type { AnswerOptions, TasksOptions } from './tasks.ts'
import type { UpOptions } from './up.ts'
import { EXIT, exitOfError } from './exit-codes.ts'
import { type Terminal, createTerminal, visibleLines } from './terminal.ts'

/** Options every command has. */
export interface CommonOptions {
  readonly config?: string
  readonly json?: boolean
}

/** A command's body: its exit code. */
type Run<O> = (
  options: O & CommonOptions,
  terminal: Terminal,
  ...words: string[]
) => Promise<number>

/** Runs a command line (`argv` without the program's own path) and sets the exit code. */
export async function main(argv: readonly string[]): Promise<void> {
  const program = new Command('comity')
    .description(
      'One host for MCP servers and A2A agents: your rules, and a record of what was asked, what happened and what is not known.',
    )
    .version(packageVersion(), '-V, --version')
    .exitOverride()
    .configureOutput({ writeErr: (text) => void process.stderr.write(visibleLines(text)) })
    .showHelpAfterError('(comity --help lists the commands)')
  serving(program)
  using(program)
  long(program)
  loggingIn(program)
  deciding(program)
  migrating(program)
  looking(program)
  watching(program)
  program.addHelpText('after', HELP_AFTER)
  // A reader that has enough (`comity ledger | head`) is no fault of anybody's.
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') process.stderr.write(`comity: output failed: ${error.message}\n`)
  })
  // Until a command says otherwise: a process that ends in mid-command has not done what it was asked.
  process.exitCode = EXIT.failed
  try {
    await program.parseAsync([...argv], { from: 'user' })
  } catch (error) {
    process.exitCode = sayFailure(error)
  }
}

const HELP_AFTER = `
Exit codes: 0 done, 1 failed, 2 usage or configuration, 3 asked or denied, 4 unknown (it may have run), 5 still working, 130 interrupted.
Configuration: -c FILE, else $COMITY_CONFIG, ./comity.yaml, the user's config directory.`

function serving(program: Command): void {
  add(program, 'up', 'serve MCP and A2A callers over HTTP on loopback')
    .option(
      '-p, --port <port>',
      'port to listen on (default 7878, or listen.port of the configuration)',
    )
    .option('--host <host>', 'address to bind; anything but loopback needs a tokens: section')
    .action(
      act<UpOptions>(async (options, terminal) => (await import('./up.ts')).up(options, terminal)),
    )
  add(
    program,
    'mcp',
    'serve an MCP host over stdio; all hosts of one configuration share one process and its servers',
  )
    .option('--standalone', 'own the store and the servers in this very process')
    .addOption(idleAfter())
    .addOption(
      new Option('--log <level>', 'what goes to standard error')
        .choices(['silent', 'error', 'info', 'debug'])
        .default('error'),
    )
    .action(
      act<McpOptions>(async (options, terminal) =>
        (await import('./mcp.ts')).mcp(options, terminal),
      ),
    )
  program
    .command('shared', { hidden: true })
    .description('the process behind comity mcp, which starts it; not for the command line')
    .requiredOption('-c, --config <file>', 'configuration file')
    .addOption(idleAfter().default('10m'))
    .action(act<SharedOptions>(async (options) => (await import('./shared.ts')).shared(options)))
  program
    .command('docs <folder...>')
    .description('serve folders of documents as an MCP server of its own (stdio, or --http)')
    .option('--as <principal>', 'who the stdio caller is (default anonymous)')
    .option('--http [port]', 'serve over HTTP on loopback instead')
    .action(async (folders: string[], options: { as?: string; http?: string | boolean }) => {
      await guarded(async () => (await import('./docs.ts')).docs(folders, options))
    })
  program
    .command('import')
    .description(
      "read your hosts' servers (Claude, Cursor, VS Code, Windsurf, Codex, Gemini CLI) into comity.yaml and point those hosts at comity",
    )
    .option('-c, --config <file>', 'the comity.yaml to write')
    .option('--dry-run', 'show everything, write nothing')
    .option('--undo', "give the hosts' files back as they were")
    .option('-y, --yes', 'do not ask')
    .action(
      act<ImportOptions>(async (options, terminal) =>
        (await import('./import.ts')).importHosts(options, terminal),
      ),
    )
}

function using(program: Command): void {
  add(program, 'ls', 'every peer: reached or not, what it offers, what was left out and why')
    .argument('[peer]')
    .action(
      act(async (options, terminal, peer) => (await import('./ls.ts')).ls(options, terminal, peer)),
    )
  add(program, 'call', 'call a tool: peer/tool or its exposed name')
    .argument('<tool>')
    .argument('[arguments]', 'JSON, or use --arg')
    .option(
      '-a, --arg <name=value>',
      'one argument; JSON values are taken as JSON (repeat)',
      collect,
      [],
    )
    .option('--timeout <duration>', 'how long to wait, such as 30s or 5m', '10m')
    .option('--insist <call>', 'send although the equal call named here is unsettled')
    .action(
      act<CallOptions>(async (options, terminal, tool, args) =>
        (await import('./call.ts')).call(options, terminal, String(tool), args),
      ),
    )
  add(program, 'prompt', 'fetch a prompt: peer/prompt or its exposed name')
    .argument('<prompt>')
    .option('-a, --arg <name=value>', 'one argument, as text (repeat)', collect, [])
    .option('--timeout <duration>', 'how long to wait', '2m')
    .action(
      act<PromptOptions>(async (options, terminal, name) =>
        (await import('./prompt.ts')).prompt(options, terminal, String(name)),
      ),
    )
  add(program, 'read', 'read a resource by its URI')
    .argument('<uri>')
    .option('--timeout <duration>', 'how long to wait', '2m')
    .action(
      act<ReadOptions>(async (options, terminal, uri) =>
        (await import('./call.ts')).read(options, terminal, String(uri)),
      ),
    )
}

function long(program: Command): void {
  add(program, 'delegate', 'give an agent a task; returns at once with our task id')
    .argument('<agent>')
    .argument('<message>', 'what the agent is to do; - reads standard input')
    .option('--data <json>', 'structured part of the brief; @file reads a file')
    .option('--context <id>', 'join an earlier conversation with this agent')
    .option('--wait [duration]', 'wait for it, one deadline over everything (default 10m)')
    .option('--insist <call>', 'send although the equal call named here is unsettled')
    .action(
      act<DelegateOptions>(async (options, terminal, agent, message) =>
        (await import('./delegate.ts')).delegate(options, terminal, String(agent), String(message)),
      ),
    )
  add(program, 'tasks', 'tasks and whose move is next; with an id, one task whole')
    .argument('[task]')
    .option('--wait [duration]', 'wait until it ends or asks (default 10m)')
    .option('--all', 'ended ones too')
    .option('--save <folder>', "write the task's artifacts there")
    .action(
      act<TasksOptions>(async (options, terminal, task) =>
        (await import('./tasks.ts')).tasks(options, terminal, task),
      ),
    )
  add(program, 'answer', "answer a task's question")
    .argument('<task>')
    .argument('[text]')
    .option('--data <json>', 'structured answer; @file reads a file')
    .option('--decline', 'refuse to answer')
    .option('--wait [duration]', 'then wait until it ends or asks again (default 10m)')
    .action(
      act<AnswerOptions>(async (options, terminal, task, text) =>
        (await import('./tasks.ts')).answer(options, terminal, String(task), text),
      ),
    )
  add(program, 'cancel', 'ask the agent to stop; says what is confirmed and what is not')
    .argument('<task>')
    .action(
      act(async (options, terminal, task) =>
        (await import('./tasks.ts')).cancel(options, terminal, String(task)),
      ),
    )
}

function loggingIn(program: Command): void {
  add(program, 'login', 'let comity use a remote server that wants a login: opens a browser')
    .argument('<peer>')
    .option('--as <principal>', 'for whom; default: callers on this machine')
    .option('--scope <scopes>', 'ask for these too (repeat)', collect, [])
    .option('--no-browser', 'print the address only')
    .action(
      act<LoginOptions>(async (options, terminal, peer) =>
        (await import('./login.ts')).login(options, terminal, String(peer)),
      ),
    )
  add(program, 'logout', 'take back what a login granted, and forget it')
    .argument('<peer>')
    .option('--as <principal>', 'for whom; default: callers on this machine')
    .action(
      act<LogoutOptions>(async (options, terminal, peer) =>
        (await import('./logout.ts')).logout(options, terminal, String(peer)),
      ),
    )
}

function deciding(program: Command): void {
  add(program, 'approvals', 'calls that wait for a person')
    .option('--all', 'answered and expired ones too')
    .action(
      act<ApprovalsOptions>(async (options, terminal) =>
        (await import('./approvals.ts')).approvals(options, terminal),
      ),
    )
  add(program, 'approve', 'let one exact call through, once')
    .argument('<approval>')
    .action(
      act(async (options, terminal, id) =>
        (await import('./approvals.ts')).decide(options, terminal, String(id), 'approved'),
      ),
    )
  add(program, 'deny', 'refuse one exact call')
    .argument('<approval>')
    .action(
      act(async (options, terminal, id) =>
        (await import('./approvals.ts')).decide(options, terminal, String(id), 'denied'),
      ),
    )
  add(
    program,
    'pins',
    'definitions that changed since they were accepted; accept <peer> [name] accepts them',
  )
    .argument('[verb]', 'accept')
    .argument('[peer]')
    .argument('[name]')
    .action(
      act(async (options, terminal, verb, peer, name) =>
        (await import('./pins.ts')).pins(options, terminal, verb, peer, name),
      ),
    )
}

function migrating(program: Command): void {
  add(program, 'compat', 'compare two protocol revisions of a server: lists, and recorded reads')
    .argument('<peer>')
    .option('--from <revision>', "the older one (default: the server's own, else 2025-11-25)")
    .option('--to <revision>', "the newer one (default: its canary's, else 2026-07-28)")
    .option('--calls <count>', 'how many recorded reads are made again on each (default 20)')
    .action(
      act<CompatOptions>(async (options, terminal, peer) =>
        (await import('./compat.ts')).compat(options, terminal, String(peer)),
      ),
    )
  add(program, 'promote', 'make the revision of a canary the one for all callers')
    .argument('<peer>')
    .action(
      act(async (options, terminal, peer) =>
        (await import('./promote.ts')).promote(options, terminal, String(peer)),
      ),
    )
  add(program, 'rollback', 'take all callers back from the revision of a canary')
    .argument('<peer>')
    .action(
      act(async (options, terminal, peer) =>
        (await import('./rollback.ts')).rollback(options, terminal, String(peer)),
      ),
    )
}

function looking(program: Command): void {
  add(program, 'ledger', 'the record: newest entries; --verify recomputes the chain')
    .argument('[id]', 'a call or a task')
    .option('-n, --limit <count>', 'how many entries', '40')
    .option('--verify', 'recompute the hash chain')
    .action(
      act<LedgerOptions>(async (options, terminal, id) =>
        (await import('./ledger.ts')).ledger(options, terminal, id),
      ),
    )
  add(
    program,
    'explain',
    'one page about one call or task: who, by which rule, what was sent, what is known, what to do',
  )
    .argument('<id>')
    .action(
      act(async (options, terminal, id) =>
        (await import('./explain.ts')).explain(options, terminal, String(id)),
      ),
    )
  add(program, 'settle', 'close an unknown call by hand, after looking at the peer')
    .argument('<call>')
    .addOption(
      new Option('--as <fate>', 'what you found')
        .choices(['ran', 'did-not-run'])
        .makeOptionMandatory(),
    )
    .option('--note <text>', 'for the record')
    .action(
      act<SettleOptions>(async (options, terminal, call) =>
        (await import('./ledger.ts')).settle(options, terminal, String(call)),
      ),
    )
}

function watching(program: Command): void {
  add(
    program,
    'status',
    'the process that owns the store, who is connected, peers, what waits',
  ).action(
    act(async (options, terminal) => (await import('./status.ts')).status(options, terminal)),
  )
  add(program, 'stop', 'ask the process that owns the store to end once running calls answered')
    .option('--now', 'break running calls off: unknown to their callers')
    .action(
      act<StopOptions>(async (options, terminal) =>
        (await import('./stop.ts')).stop(options, terminal),
      ),
    )
  add(program, 'restart', 'start a peer anew that is left alone after failures')
    .argument('<peer>')
    .action(
      act(async (options, terminal, peer) =>
        (await import('./restart.ts')).restart(options, terminal, String(peer)),
      ),
    )
  add(program, 'logs', 'what a server that comity started printed, secrets masked')
    .argument('<peer>')
    .option('-n, --lines <count>', 'how many of the last lines', '100')
    .option('-f, --follow', 'go on with every new line')
    .action(
      act<LogsOptions>(async (options, terminal, peer) =>
        (await import('./logs.ts')).logs(options, terminal, String(peer)),
      ),
    )
  add(program, 'doctor', 'what of this installation will not work, and what to do about it').action(
    act(async (options, terminal) => (await import('./doctor.ts')).doctor(options, terminal)),
  )
  add(program, 'probe', 'what is this server: an address, a command (after --) or a peer')
    .argument('[target...]')
    .option('--peer <name>', 'a configured peer, with what it bears')
    .option('--timeout <duration>', 'how long everything may take', '90s')
    .action(
      act<ProbeOptions>(async (options, terminal, ...target) =>
        (await import('./probe.ts')).probe(options, terminal, target.flat()),
      ),
    )
}

function add(program: Command, name: string, description: string): Command {
  return program
    .command(name)
    .description(description)
    .option('-c, --config <file>', 'configuration file')
    .option('--json', 'one JSON document on standard output')
}

/** For tests: ten minutes are long. */
function idleAfter(): Option {
  return new Option(
    '--idle-after <duration>',
    'how long the background process stays without work',
  ).hideHelp()
}

function collect(value: string, before: readonly string[]): readonly string[] {
  return [...before, value]
}

/** Commander gives words first, then options, then the command. */
function act<O>(run: Run<O>): (...given: unknown[]) => Promise<void> {
  return async (...given) => {
    const options = given.at(-2) as O & CommonOptions
    const words = given.slice(0, -2) as string[]
    const terminal = createTerminal({
      json: options.json === true,
      interactive: process.stdin.isTTY && process.stdout.isTTY,
      output: process.stdout,
      error: process.stderr,
    })
    await guarded(() => run(options, terminal, ...words))
  }
}

async function guarded(run: () => Promise<number>): Promise<void> {
  try {
    const code = await run()
    if (process.exitCode !== EXIT.interrupted) process.exitCode = code
  } catch (error) {
    process.exitCode = sayFailure(error)
  }
}

function sayFailure(error: unknown): number {
  // Commander has printed its own message, or the help or version that was asked for.
  if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.done : EXIT.usage
  if (error instanceof ComityError) {
    process.stderr.write(`comity: ${visibleLines(error.message)}\n`)
    if (error instanceof OwnerGone && error.mayHaveActed) return EXIT.unknown
    return exitOfError(error.code)
  }
  const words = error instanceof Error ? (error.stack ?? error.message) : String(error)
  process.stderr.write(`comity: a fault of comity itself: ${visibleLines(words)}\n`)
  return EXIT.failed
}
