"use strict";
// The chat page: sends what is written, and asks for what was answered. Words of people are put in as text alone.
(() => {
    const { urls, words } = JSON.parse(document.getElementById("given").textContent);
    const by = (id) => document.getElementById(id);
    const log = by("log"), box = by("text"), status = by("status");
    const token = document.querySelector("[name=csrfmiddlewaretoken]").value;
    const QUICK = 700, SLOW = 5000;
    const pressed = new Set(); // buttons that were pressed are not offered again
    const pending = new Map(); // by id: what was written and is not stored yet
    let state = { messages: [], is_waiting: false, used: [], saved: [], problem: "" };
    let version = "", timer = 0, problem = "", asking = false, quickUntil = 0;

    const element = (tag, className, text) => {
        const made = document.createElement(tag);
        if (className) made.className = className;
        if (text !== undefined) made.textContent = text;
        return made;
    };
    const button = (label, action) => {
        const made = element("button", "", label);
        made.type = "button";
        made.addEventListener("click", action);
        return made;
    };
    const newId = () => Array.from(crypto.getRandomValues(new Uint8Array(16)), (n) => n.toString(16).padStart(2, "0")).join("");

    async function post(url, body) {
        const headers = { "Content-Type": "application/json", "X-CSRFToken": token };
        const answer = await fetch(url, { method: "POST", credentials: "same-origin", headers, body: JSON.stringify(body) });
        if (answer.ok) return;
        const refusal = await answer.json().catch(() => ({}));
        throw new Error(refusal.detail || words.not_sent);
    }

    async function send(text, id = newId()) {
        pending.set(id, { id, text, is_mine: true, at: new Date().toISOString(), is_failed: false });
        show();
        try {
            await post(urls.write, { id, text });
            problem = "";
        } catch (failure) {
            pending.get(id) && (pending.get(id).is_failed = true);
            problem = failure instanceof TypeError ? words.away : failure.message;
        }
        show();
        askSoon();
    }

    async function press(target) {
        pressed.add(target);
        show();
        try {
            await post(urls.press, { id: newId(), target });
            problem = "";
        } catch (failure) {
            pressed.delete(target);
            problem = failure instanceof TypeError ? words.away : failure.message;
        }
        show();
        askSoon();
    }

    async function ask() {
        clearTimeout(timer);
        if (document.hidden || asking) return;
        asking = true;
        try {
            const answer = await fetch(`${urls.messages}?version=${version}`, { credentials: "same-origin", cache: "no-store" });
            if (answer.status === 200) {
                state = await answer.json();
                version = state.version;
                for (const message of state.messages) pending.delete(message.id);
                problem = "";
                show();
            } else if (answer.status !== 204) {
                problem = (await answer.json().catch(() => ({}))).detail || words.away;
                show();
            } else if (problem === words.away) {
                problem = "";
                show();
            }
        } catch {
            problem = words.away;
            show();
        }
        asking = false;
        const isQuick = state.is_waiting || pending.size || Date.now() < quickUntil;
        timer = setTimeout(ask, isQuick ? QUICK : SLOW);
    }
    function askSoon() {
        quickUntil = Date.now() + 8000;
        clearTimeout(timer);
        timer = setTimeout(ask, 300);
    }

    function bubble(message) {
        const made = element("div", `message${message.is_mine ? " mine" : ""}${pending.has(message.id) ? " pending" : ""}`);
        made.dataset.id = message.id;
        made.setAttribute("aria-label", message.is_mine ? words.you : words.bot);
        const actions = element("div", "actions");
        if (message.file_name) actions.append(button(words.download.replace("%s", message.file_name), () => download(message)));
        else made.append(element("p", "", message.text));
        for (const { label, target } of message.buttons || []) {
            const one = button(label, () => press(target));
            one.disabled = pressed.has(target) || state.saved.some((row) => row.target === target && row.is_undone);
            actions.append(one);
        }
        if (message.is_failed) actions.append(button(words.again, () => send(message.text, message.id)));
        if (actions.childElementCount) made.append(actions);
        const at = element("time", "", new Date(message.at).toLocaleTimeString([], { hour: "2-digit", minute: "2-digit" }));
        at.dateTime = message.at;
        made.append(at);
        return made;
    }

    const writing = () => element("div", "message writing", "…");

    function download(message) {
        const link = element("a");
        link.href = URL.createObjectURL(new Blob([message.text], { type: "text/markdown" }));
        link.download = message.file_name;
        link.click();
        setTimeout(() => URL.revokeObjectURL(link.href), 10000);
    }

    function show() {
        const isAtEnd = log.scrollHeight - log.scrollTop - log.clientHeight < 80;
        const all = [...state.messages, ...pending.values()];
        const rows = all.map(bubble);
        if (state.is_waiting) rows.push(writing());
        const isNew = rows.length !== log.querySelectorAll(".message").length;
        by("empty").hidden = rows.length > 0;
        rows.forEach((row, place) => { // what stands there stays: a reader aloud reads what is new alone
            const former = log.querySelectorAll(".message")[place];
            if (!former) log.append(row);
            else if (!former.isEqualNode(row)) former.replaceWith(row);
        });
        [...log.querySelectorAll(".message")].slice(rows.length).forEach((row) => row.remove());
        if (isNew || isAtEnd) log.scrollTop = log.scrollHeight;
        status.textContent = problem || state.problem || "";
        by("used").replaceChildren(...state.used.map((text) => element("li", "", text)));
        by("used-none").hidden = state.used.length > 0;
        by("saved").replaceChildren(...state.saved.map(savedRow));
        by("saved-none").hidden = state.saved.length > 0;
    }

    function savedRow(row) {
        const made = element("li");
        for (const text of row.words) made.append(element("p", "", text));
        if (row.is_undone) made.append(element("span", "undone", words.undone));
        else {
            const one = button(words.undo, () => press(row.target));
            one.disabled = pressed.has(row.target);
            made.append(one);
        }
        return made;
    }

    by("composer").addEventListener("submit", (event) => {
        event.preventDefault();
        const text = box.value.trim();
        if (!text) return;
        box.value = "";
        fit();
        send(text);
    });
    box.addEventListener("keydown", (event) => { // Enter also chooses a word while Chinese is typed
        if (event.key !== "Enter" || event.shiftKey || event.isComposing || event.keyCode === 229) return;
        event.preventDefault();
        by("composer").requestSubmit();
    });
    function fit() {
        box.style.height = "auto";
        box.style.height = `${box.scrollHeight + 2}px`;
    }
    box.addEventListener("input", fit);
    by("commands")?.addEventListener("click", (event) => {
        const command = event.target.closest("[data-command]");
        if (command) send(command.dataset.command);
    });
    by("memory-toggle").addEventListener("click", (event) => {
        const isShown = document.body.classList.toggle("shows-memory");
        event.currentTarget.setAttribute("aria-expanded", String(isShown));
    });
    document.addEventListener("visibilitychange", ask);
    ask();
})();
