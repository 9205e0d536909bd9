/** `comity import`: take the servers that hosts have into comity.yaml, and point those hosts at comity. Nothing is written unseen. */
import { existsSync, realpathSync } from 'node:fs'
import { homedir } from 'node:os'
import { resolve } from 'node:path'
import { ComityError } from '../gateway/admin/errors.ts'
import { userConfigFile } from '../gateway/config/find-config.ts'
import { applyImport } from '../gateway/hosts/apply-import.ts'
import { type HostState, hostFiles, readHostFile } from '../gateway/hosts/host-files.ts'
import { type ImportPlan, planImport } from '../gateway/hosts/plan-import.ts'
import { undoImport } from '../gateway/hosts/undo-import.ts'
import { EXIT } from './exit-codes.ts'
import type { CommonOptions } from './main.ts'
import { confirm } from './questions.ts'
import { type Terminal, visible } from './terminal.ts'

export interface ImportOptions extends CommonOptions {
  readonly dryRun?: boolean
  readonly undo?: boolean
  readonly yes?: boolean
}

export async function importHosts(options: ImportOptions, terminal: Terminal): Promise<number> {
  const configFile = resolve(options.config ?? userConfigFile(process.env, homedir()))
  if (options.undo === true) return undo(configFile, terminal)
  const plan = planImport({
    hosts: readHosts(terminal),
    configFile,
    // By absolute paths: a host starts comity without a shell's PATH.
    node: process.execPath,
    entry: realpathSync(process.argv[1] ?? ''),
    platform: process.platform,
    home: homedir(),
    env: process.env,
    now: new Date().toISOString(),
  })
  if (plan.servers.length === 0) {
    terminal.line('there is nothing to take: no host file has a server that comity could run')
    showLeft(terminal, plan)
    return EXIT.done
  }
  showPlan(terminal, plan)
  if (options.dryRun === true) {
    terminal.line('\n--dry-run: nothing was written')
    return EXIT.done
  }
  if (existsSync(configFile)) {
    throw new ComityError(
      'conflict',
      `${configFile} is there already: add the servers by hand, or name another file with -c`,
    )
  }
  const agreed = options.yes === true || (await askToGoOn(terminal, plan))
  if (!agreed) {
    terminal.line('nothing was written')
    return EXIT.refused
  }
  const done = applyImport(plan, {
    hosts: plan.hosts.map((host) => host.state.host),
    env: process.env,
  })
  for (const file of done.written) terminal.line(`wrote ${file}`)
  for (const host of done.pointed)
    terminal.line(`${host.label}: ${host.path} points at comity; as it was: ${host.backup}`)
  terminal.line(
    `restart ${done.pointed.map((host) => host.label).join(' and ')}; take it all back with: comity import --undo -c ${configFile}`,
  )
  return EXIT.done
}

function readHosts(terminal: Terminal): readonly HostState[] {
  const states: HostState[] = []
  const place = {
    platform: process.platform,
    home: homedir(),
    env: process.env,
    project: process.cwd(),
  }
  for (const file of hostFiles(place)) {
    const read = readHostFile(file)
    if (read === undefined) continue
    if ('problem' in read)
      terminal.note(`${file.label}: ${file.path} is left alone: ${read.problem}`)
    else states.push(read)
  }
  return states
}

function showPlan(terminal: Terminal, plan: ImportPlan): void {
  terminal.line('These servers would be taken; each line is what comity will start or reach:')
  for (const server of plan.servers) {
    terminal.line(`  ${server.name} (${server.from} in ${server.host})`)
    terminal.line(`    ${visible(server.launchLine)}`)
    for (const note of server.notes) terminal.line(`    note: ${visible(note)}`)
  }
  showLeft(terminal, plan)
  terminal.line(`\n${plan.configFile} would be:\n`)
  for (const line of plan.configText.trimEnd().split('\n')) terminal.line(`  ${visible(line)}`)
  for (const secret of plan.secrets)
    terminal.line(`\nsecret, readable by you alone: ${secret.path}`)
  for (const host of plan.hosts) {
    terminal.line(`\n${host.state.label}: ${host.state.path} would start only:`)
    terminal.line(`  ${visible([plan.hostEntry.command, ...plan.hostEntry.args].join(' '))}`)
    for (const note of notesOn(host.state)) terminal.line(`  note: ${note}`)
  }
  warnOfSharing(terminal, plan)
}

/** What a person should know before a host's file is changed. */
function notesOn({ host, project }: HostState): readonly string[] {
  return [
    ...(project === undefined
      ? []
      : ["this file is the project's: others who share it would get your comity's path"]),
    // Claude Code writes the whole file again when it ends.
    ...(host === 'claude-code' ? ['close Claude Code first: it writes this file itself'] : []),
  ]
}

/** Where no process can be shared each host starts its own, and a store has one owner at a time. */
function warnOfSharing(terminal: Terminal, plan: ImportPlan): void {
  if (plan.hosts.length < 2 || !plan.hostEntry.args.includes('--standalone')) return
  terminal.line(
    '\nnote: on Windows one host at a time can use this store over stdio; the second one to start is told so. ' +
      'To use several at once, run comity up and point them at its /mcp address.',
  )
}

function showLeft(terminal: Terminal, plan: ImportPlan): void {
  for (const left of plan.left)
    terminal.line(`  stays in ${left.label}: ${visible(left.name)}: ${visible(left.reason)}`)
}

async function askToGoOn(terminal: Terminal, plan: ImportPlan): Promise<boolean> {
  if (!terminal.interactive)
    throw new ComityError(
      'usage',
      'there is nobody to ask: look with --dry-run, then agree with --yes',
    )
  return confirm(
    `\nwrite this, and point ${plan.hosts.map((host) => host.state.label).join(' and ')} at comity?`,
  )
}

function undo(configFile: string, terminal: Terminal): number {
  const undone = undoImport(configFile)
  for (const host of undone.hosts)
    terminal.line(`${host.label}: ${host.path}: ${host.result}: ${host.detail}`)
  for (const file of undone.removed) terminal.line(`removed ${file}`)
  for (const file of undone.kept) terminal.line(`kept ${file}: changed since, or still needed`)
  return undone.hosts.some((host) => host.result === 'gone' || host.result === 'unusable')
    ? EXIT.failed
    : EXIT.done
}
